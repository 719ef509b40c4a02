#include "server/rpc/streamed_write.h"

#include <vector>

namespace holdfast {

absl::Status TakeItem(const pb::Message& message, StagedItems& items) {
  Repeated<pb::Message> one;
  *one.Add() = message;
  ASSIGN_OR_RETURN(std::vector<Message> read, ReadMessages(one));
  return items.Begin(std::move(read.front()));
}

absl::Status TakeItem(const pb::Slot& slot, StagedItems& items) {
  Repeated<pb::Slot> one;
  *one.Add() = slot;
  ASSIGN_OR_RETURN(std::vector<Slot> read, ReadSlots("slots", one));
  return items.Begin(std::move(read.front()));
}

}  // namespace holdfast
