// What a mutation means, as a hash over a fixed field order: the same id with another fingerprint
// is another request. Lease, deadline, trace and transport are not
// part of it, and neither is what a reply shall carry.
#ifndef HOLDFAST_SESSION_FINGERPRINT_H_
#define HOLDFAST_SESSION_FINGERPRINT_H_

#include "session/change.h"
#include "session/commands.h"

namespace holdfast {

RequestStamp StampOf(const CreateCommand& command);
RequestStamp StampOf(const UpdateCommand& command);
RequestStamp StampOf(const PutItemsCommand& command);
RequestStamp StampOf(const ResumeCommand& command);
RequestStamp StampOf(const BeginTurnCommand& command);
RequestStamp StampOf(const CommitTurnCommand& command);
RequestStamp StampOf(const WriteCommand& command);
RequestStamp StampOf(const RestoreCommand& command);
RequestStamp StampOf(const PutCheckpointCommand& command);
RequestStamp StampOf(const DeleteCheckpointCommand& command);
RequestStamp StampOf(const AbandonTurnCommand& command);
RequestStamp StampOf(const CloseCommand& command);
RequestStamp StampOf(const DeleteCommand& command);
RequestStamp StampOf(const ReleaseCommand& command);
RequestStamp StampOf(const CancelCommand& command);
RequestStamp StampOf(const AppendAuditCommand& command);

// True when both are the same request.
inline bool SameRequest(const RequestStamp& a, const RequestStamp& b) {
  return a.method == b.method && a.fingerprint == b.fingerprint;
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_FINGERPRINT_H_
