// Requests of the wire that are valid apart from what is passed in.
#ifndef HOLDFAST_TESTS_SUPPORT_REQUESTS_H_
#define HOLDFAST_TESTS_SUPPORT_REQUESTS_H_

#include "holdfast/v1/session_service.pb.h"

#include <cstdint>
#include <string>

namespace holdfast::test {

namespace pb = ::holdfast::v1;

// A request id that no other call has, of this process or another.
std::string NewRequestId();

pb::CreateSessionRequest CreateRequest(const std::string& id);
pb::BeginTurnRequest BeginRequest(const std::string& id, const std::string& token);
// A note as entry `number`.
pb::AppendJournalRequest AppendRequest(const std::string& id, const std::string& token,
                                       uint64_t turn, uint64_t number);
// With `text` as the turn's message.
pb::CommitTurnRequest CommitRequest(const std::string& id, const std::string& token, uint64_t turn,
                                    const std::string& text);
pb::AbandonTurnRequest AbandonRequest(const std::string& id, const std::string& token,
                                      uint64_t turn);
// A resume without a token.
pb::ResumeSessionRequest ResumeRequest(const std::string& id);
// The same with force, which also takes a live lease.
pb::ResumeSessionRequest ForceRequest(const std::string& id);
pb::ReleaseLeaseRequest ReleaseRequest(const std::string& id, const std::string& token);
pb::RenewLeasesRequest RenewLeaseRequest(const std::string& id, const std::string& token);
pb::CloseSessionRequest CloseRequest(const std::string& id, const std::string& token);
// A cancel request without a lease token.
pb::CancelSessionRequest SessionCancelRequest(const std::string& id, pb::CancelScope scope,
                                              uint64_t turn = 0, const std::string& name = "");
pb::DeleteSessionRequest DeleteRequest(const std::string& id, const std::string& token);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REQUESTS_H_
