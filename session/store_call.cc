#include "session/store_call.h"

#include <array>

namespace holdfast {

std::string_view Name(StoreCall call) {
  static constexpr std::array<std::string_view, kStoreCalls> kNames = {
      "Init",      "Activate",    "Deactivate",  "LoadForDecision", "LoadForOutcome",
      "Commit",    "StageUpload", "DropUpload",  "ReadStaged",      "ReadMessages",
      "ReadSlots", "ReadJournal", "ReadEvents",  "ReadItems",       "ReadAudit",
      "List",      "ListDue",     "RenewLeases", "CheckHealth",     "Check"};
  return kNames.at(static_cast<size_t>(call));
}

}  // namespace holdfast
