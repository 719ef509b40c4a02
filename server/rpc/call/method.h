// The methods that go through the funnel: a closed list, so that a method is an index where calls
// are counted. What is not in the list does not compile.
#ifndef HOLDFAST_SERVER_RPC_CALL_METHOD_H_
#define HOLDFAST_SERVER_RPC_CALL_METHOD_H_

#include <array>
#include <cstddef>
#include <string_view>

namespace holdfast {

// By service and in the order of its file in protos/.
inline constexpr std::array<std::string_view, 41> kMethods = {"CreateSession",
                                                              "GetSession",
                                                              "BatchGetSessions",
                                                              "LookupLatestSession",
                                                              "UpdateSession",
                                                              "ListSessions",
                                                              "ResumeSession",
                                                              "ReadSession",
                                                              "BeginTurn",
                                                              "AppendJournal",
                                                              "AppendJournalStream",
                                                              "CommitTurn",
                                                              "CommitTurnStream",
                                                              "AbandonTurn",
                                                              "RestoreSession",
                                                              "PutCheckpoint",
                                                              "ListCheckpoints",
                                                              "DeleteCheckpoint",
                                                              "CancelSession",
                                                              "CloseSession",
                                                              "DeleteSession",
                                                              "RenewLeases",
                                                              "ReleaseLease",
                                                              "ListMessages",
                                                              "ListSlots",
                                                              "ListJournalEntries",
                                                              "ListEvents",
                                                              "WatchSession",
                                                              "AppendAudit",
                                                              "ListAuditRecords",
                                                              "VerifyAudit",
                                                              "GetRequestOutcome",
                                                              "DescribeStore",
                                                              "CheckStore",
                                                              "WriteSnapshot",
                                                              "WriteSnapshotStream",
                                                              "ReadSnapshot",
                                                              "PutItems",
                                                              "ReadItems",
                                                              "Status",
                                                              "Echo"};

// One of kMethods, by its name as a literal: `MethodName method = "CommitTurn"`.
class MethodName {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor, hicpp-explicit-conversions): a literal is its name
  consteval MethodName(const char* name) : index_(IndexOf(name)) {}

  [[nodiscard]] constexpr size_t index() const { return index_; }
  [[nodiscard]] constexpr std::string_view name() const { return kMethods[index_]; }

 private:
  static consteval size_t IndexOf(std::string_view name) {
    for (size_t index = 0; index < kMethods.size(); ++index) {
      if (kMethods[index] == name) return index;
    }
    throw "not a method of kMethods";  // the compiler stops here
  }

  size_t index_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_METHOD_H_
