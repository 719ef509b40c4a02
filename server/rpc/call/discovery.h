// What every reply says of this server in its metadata, so that a client learns what it can use
// without a call of its own. A refusal says it in its trailing metadata: gRPC repeats no call whose
// initial metadata has arrived.
#ifndef HOLDFAST_SERVER_RPC_CALL_DISCOVERY_H_
#define HOLDFAST_SERVER_RPC_CALL_DISCOVERY_H_

namespace holdfast {

// The version of the API: the number of the package, and one that rises with a release that adds
// methods or fields.
inline constexpr char kApiHeader[] = "holdfast-api";
inline constexpr char kApiVersion[] = "1.0";
// What a client may find missing on another server of this version of the package, separated by
// commas: items (ItemService), open (sessions of kind OPEN), restore (RestoreSession), resume-wait
// (`wait` of ResumeSession), reuse-deleted (`reuse_deleted` of CreateSession, and `session_uid`),
// checkpoints (PutCheckpoint and what belongs to it), compaction (`compaction` of CommitTurn and
// WriteSnapshot, and `replace_history` of CommitTurn).
inline constexpr char kFeaturesHeader[] = "holdfast-features";
inline constexpr char kFeatures[] =
    "items,open,restore,resume-wait,reuse-deleted,checkpoints,compaction";

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_DISCOVERY_H_
