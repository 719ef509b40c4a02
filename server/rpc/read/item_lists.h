// The lists of one session's items, page by page: messages, slots, checkpoints, journal entries,
// events and audit records.
#ifndef HOLDFAST_SERVER_RPC_READ_ITEM_LISTS_H_
#define HOLDFAST_SERVER_RPC_READ_ITEM_LISTS_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/call.h"
#include "session/sessions.h"

#include "absl/status/status.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

// Each fills the response of the call of its name, or answers that call's refusal.
absl::Status ServeListMessages(Sessions& sessions, Call& call,
                               const pb::ListMessagesRequest& request,
                               pb::ListMessagesResponse& response);
absl::Status ServeListCheckpoints(Sessions& sessions, Call& call,
                                  const pb::ListCheckpointsRequest& request,
                                  pb::ListCheckpointsResponse& response);
absl::Status ServeListSlots(Sessions& sessions, Call& call, const pb::ListSlotsRequest& request,
                            pb::ListSlotsResponse& response);
absl::Status ServeListJournalEntries(Sessions& sessions, Call& call,
                                     const pb::ListJournalEntriesRequest& request,
                                     pb::ListJournalEntriesResponse& response);
absl::Status ServeListEvents(Sessions& sessions, Call& call, const pb::ListEventsRequest& request,
                             pb::ListEventsResponse& response);
absl::Status ServeListAuditRecords(Sessions& sessions, Call& call,
                                   const pb::ListAuditRecordsRequest& request,
                                   pb::ListAuditRecordsResponse& response);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_ITEM_LISTS_H_
