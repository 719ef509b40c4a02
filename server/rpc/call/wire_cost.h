// How much memory a message of the client will take, from its bytes alone: what is reserved of the
// memory budget before anything is allocated for it.
#ifndef HOLDFAST_SERVER_RPC_CALL_WIRE_COST_H_
#define HOLDFAST_SERVER_RPC_CALL_WIRE_COST_H_

#include "server/rpc/call/wire.h"

#include "google/protobuf/descriptor.h"

#include <cstddef>

namespace holdfast {

// At most, of one parsed message.
struct ParsedSize {
  size_t arena = 0;  // messages, arrays and texts without their bytes
  size_t heap = 0;   // the bytes of texts, and fields that its type does not have
  // Of the heap, the fields that its type does not have: the message keeps them while it lives.
  size_t unknown = 0;

  [[nodiscard]] size_t Total() const { return arena + heap; }
};

// The size of the message of this type that `bytes` would be parsed into. Looks at each field once
// and allocates nothing for it; a message that is short enough is not looked at and counts as what
// any message of its length may become.
ParsedSize SizeWhenParsed(const Bytes& bytes, const google::protobuf::Descriptor& type);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_WIRE_COST_H_
