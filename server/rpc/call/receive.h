// Parses messages of clients within the memory budget.
#ifndef HOLDFAST_SERVER_RPC_CALL_RECEIVE_H_
#define HOLDFAST_SERVER_RPC_CALL_RECEIVE_H_

#include "platform/status_macros.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/call/wire.h"
#include "server/rpc/call/wire_cost.h"

#include "absl/status/status.h"

#include <algorithm>
#include <cstddef>

namespace holdfast {

// A request takes its bytes as they came, once more as texts of the parsed message, which its
// command takes over, and once more as the record that is written; and what is not text as a
// message and as a command.
inline constexpr size_t kCopiesOfTexts = 3;
inline constexpr size_t kCopiesOfShells = 2;

// Parses `bytes` into `message`, once its elements were counted. `ticket` holds what the message
// may take until it is parsed, and from then on what it and what is made of it take. OVERLOADED
// when the budget does not have that; otherwise as CheckCounts and Parse, whose `most` is
// `arena_most` or less.
template <typename Message>
absl::Status Receive(const Bytes& bytes, size_t arena_most, Admission::Ticket& ticket,
                     Received<Message>& message) {
  RETURN_IF_ERROR(message.CheckCounts(bytes));
  const ParsedSize size = SizeWhenParsed(bytes, *Message::descriptor());
  const size_t arena = std::min(arena_most, size.arena);
  const size_t texts = bytes.Length() * kCopiesOfTexts;
  const size_t most = std::max(texts, bytes.Length() + size.heap) + arena;
  RETURN_IF_ERROR(ticket.Resize(most));
  RETURN_IF_ERROR(message.Parse(bytes, arena));
  // Never more than before, so that what has been parsed is not refused any more.
  const size_t shells = message.ArenaBytes() * kCopiesOfShells;
  return ticket.Resize(std::min(most, texts + shells + size.unknown));
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_RECEIVE_H_
