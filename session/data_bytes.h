// The bytes that a change carries itself: those of its messages, slots and entries that lie in no
// upload.
#ifndef HOLDFAST_SESSION_DATA_BYTES_H_
#define HOLDFAST_SESSION_DATA_BYTES_H_

#include "session/apply.h"
#include "session/model.h"

#include <cstddef>

namespace holdfast {

inline size_t DataBytes(const JournalEntry& entry) {
  return entry.data.size() + (entry.slot ? entry.slot->data.size() : 0);
}

inline size_t DataBytes(const Applied& applied) {
  size_t bytes = 0;
  for (const Message& message : applied.messages) bytes += message.data.size();
  for (const Slot& slot : applied.slots) bytes += slot.data.size();
  for (const JournalEntry& entry : applied.entries) bytes += DataBytes(entry);
  return bytes;
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_DATA_BYTES_H_
