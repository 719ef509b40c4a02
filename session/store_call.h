// The calls of the contract that a decorator may surround (session/forwarding_store.h).
#ifndef HOLDFAST_SESSION_STORE_CALL_H_
#define HOLDFAST_SESSION_STORE_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast {

enum class StoreCall : uint8_t {
  kInit,
  kActivate,
  kDeactivate,
  kLoadForDecision,
  kLoadForOutcome,
  kCommit,
  kStageUpload,
  kDropUpload,
  kReadStaged,
  kReadMessages,
  kReadSlots,
  kReadJournal,
  kReadEvents,  // ReadLastEvent too
  kReadItems,
  kReadAudit,
  kList,
  kListDue,
  kRenewLeases,
  kCheckHealth,
  kCheck,
};
inline constexpr size_t kStoreCalls = 20;

// "Commit", "ReadMessages": a label of metrics and of the slow log.
std::string_view Name(StoreCall call);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_STORE_CALL_H_
