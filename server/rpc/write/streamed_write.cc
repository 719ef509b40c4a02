#include "server/rpc/write/streamed_write.h"

#include <utility>

namespace holdfast {

absl::Status TakeItem(pb::Message& message, StagedItems& items) {
  ASSIGN_OR_RETURN(Message read, ReadMessage("message", message));
  return items.Begin(std::move(read));
}

absl::Status TakeItem(pb::Slot& slot, StagedItems& items) {
  ASSIGN_OR_RETURN(Slot read, ReadSlot("slot", slot));
  return items.Begin(std::move(read));
}

}  // namespace holdfast
