#include "cli/reasons.h"

#include <algorithm>
#include <array>

namespace holdfast::cli {
namespace {

constexpr std::string_view kReadFirst = "look at it with `holdfast session show`, then decide";
constexpr std::string_view kSendAgain = "send the same request again under the same request id";
constexpr std::string_view kCorrect = "correct the request";
constexpr std::string_view kReport = "change nothing in the store, and restore it from a backup";
constexpr std::string_view kNotAllowed = "this is not allowed; sending it again will not help";
constexpr std::string_view kFromKept = "read again from the oldest position that is kept";

constexpr std::array kExplanations = {
    Explanation{kUnreachableReason, "no server answered",
                "check that holdfastd runs there and that --address is right", Repeat::kYes},
    Explanation{kNotHoldfastReason,
                "what answered does not know this call: it is no Holdfast server, or an older one",
                "check that --address is right", Repeat::kNo},
    Explanation{kItemMissingReason, "the collection has no item of this key",
                "check the key with `holdfast items list`", Repeat::kNo},
    Explanation{"RESOURCE_EXHAUSTED", "the connection could not carry the call or its reply",
                "ask for less at once, or wait and send it again", Repeat::kNo},
    Explanation{"RESUME_MISMATCH", "the session belongs to another store",
                "use the server that has that store", Repeat::kNo},
    Explanation{"MANIFEST_DRIFT", "the session's manifest cannot be trusted", kReport, Repeat::kNo},
    Explanation{"DAMAGED", "stored data fails its checks", kReport, Repeat::kNo},
    Explanation{"REVISION_AHEAD",
                "you know a later state than is stored: an older copy was put back",
                "stop, and find the newer copy of the store", Repeat::kNo},
    Explanation{"SESSION_NOT_FOUND", "there is no such session",
                "check the id with `holdfast session list`", Repeat::kNo},
    Explanation{"NO_SNAPSHOT", "no session has this project root",
                "check the path with `holdfast session list`", Repeat::kNo},
    Explanation{"TOMBSTONED", "the session was deleted",
                "choose another id, or create it with `reuse_deleted`", Repeat::kNo},
    Explanation{"SESSION_EXISTS", "the id is taken", "resume the session instead", Repeat::kNo},
    Explanation{"ILLEGAL_TRANSITION", "not possible in the session's state", kReadFirst,
                Repeat::kNo},
    Explanation{"CONCURRENT_TURN", "a turn is running", kReadFirst, Repeat::kNo},
    Explanation{"STALE_TURN", "the turn is not the running one", kReadFirst, Repeat::kNo},
    Explanation{"STALE_REVISION", "the session has moved on", kReadFirst, Repeat::kNo},
    Explanation{"LEASE_REQUIRED", "only the holder of the lease may do this",
                "resume the session and use the token you get", Repeat::kNo},
    Explanation{"FENCED", "the token is no longer valid, or of a deleted session: see `cause`",
                "look at the session, and resume it to write again", Repeat::kNo},
    Explanation{"LEASE_HELD", "another holder's lease is live",
                "wait until the lease ends, or take it with `session resume --force REASON`",
                Repeat::kWhenLeaseIsFree},
    Explanation{"STORE_UNAVAILABLE", "the store does not answer", kSendAgain, Repeat::kYes},
    Explanation{"SNAPSHOT_FAILED", "the turn's snapshot could not be written", kSendAgain,
                Repeat::kYes},
    Explanation{"DEADLINE", "the call ran out of time", kSendAgain, Repeat::kYes},
    Explanation{"CANCELLED", "the call was cancelled", kSendAgain, Repeat::kYes},
    Explanation{"WATCH_ENDED", "the stream was ended", "go on from its cursor", Repeat::kNo},
    Explanation{"OVERLOADED", "the server has too much to do", "wait, then send it again",
                Repeat::kYes},
    Explanation{"QUOTA", "a quota is used up", "wait, then send it again", Repeat::kYes},
    Explanation{"STORAGE_FULL", "the store has no space left", "make space, then send it again",
                Repeat::kYes},
    Explanation{"TOO_LARGE", "larger than a limit", "send less at once", Repeat::kNo},
    Explanation{"INVALID_FIELD", "a field of the request is not valid", kCorrect, Repeat::kNo},
    Explanation{"IMMUTABLE_FIELD", "the field never changes", kCorrect, Repeat::kNo},
    Explanation{"REQUEST_ID_REUSED", "the request id was used for something else",
                "choose a new request id", Repeat::kNo},
    Explanation{"SLOT_VERSION_MISSING", "a slot has no version", kCorrect, Repeat::kNo},
    Explanation{"MALFORMED_SECRET_REFERENCE", "a reference to a secret is malformed", kCorrect,
                Repeat::kNo},
    Explanation{"SECRET_LEAK", "the request carries a secret", "send a reference instead",
                Repeat::kNo},
    Explanation{"SLOT_DRIFT_REJECTED", "the slot has another version than is expected",
                "read it with the version that wrote it", Repeat::kNo},
    Explanation{"SLOT_MIGRATION_FAILED", "the slot could not be migrated", "mend the migration",
                Repeat::kNo},
    Explanation{"SLOT_ACCESS_DENIED", "the slot belongs to another extension", kNotAllowed,
                Repeat::kNo},
    Explanation{"ROLE_FORBIDDEN", "your role may not do this", kNotAllowed, Repeat::kNo},
    Explanation{"USER_INPUT_FORBIDDEN", "user input is not taken here", kNotAllowed, Repeat::kNo},
    Explanation{"UNAUTHENTICATED", "the server does not know you", "send valid credentials",
                Repeat::kNo},
    Explanation{"REVISION_PRUNED", "this revision is no longer kept", kFromKept, Repeat::kNo},
    Explanation{"EVENTS_COMPACTED", "these events are no longer kept", kFromKept, Repeat::kNo},
    Explanation{"CAPABILITY_MISSING", "this store cannot do that", "use a store that can",
                Repeat::kNo},
    Explanation{"MAX_DEPTH", "too many levels of delegation", kNotAllowed, Repeat::kNo},
    Explanation{"LEAF_DELEGATION", "a leaf may not delegate", kNotAllowed, Repeat::kNo},
    Explanation{"LINEAGE_CYCLE", "a session cannot be its own ancestor", kNotAllowed, Repeat::kNo},
    Explanation{"RECORD_NOT_FOUND", "the session has no such checkpoint",
                "list those it has with `holdfast session checkpoints`", Repeat::kNo},
    Explanation{"INTERNAL", "the server failed", kSendAgain, Repeat::kYes},
};

constexpr Explanation kUnknown{"", "the server refused",
                               "see the message; this version does not know the reason",
                               Repeat::kNo};

}  // namespace

const Explanation& ExplanationOf(std::string_view reason) {
  const auto* found = std::ranges::find(kExplanations, reason, &Explanation::reason);
  return found == kExplanations.end() ? kUnknown : *found;
}

}  // namespace holdfast::cli
