// Messages as they cross the wire: bytes until their call is admitted, and then parsed into no more
// memory than the call was given.
#ifndef HOLDFAST_SERVER_RPC_CALL_WIRE_H_
#define HOLDFAST_SERVER_RPC_CALL_WIRE_H_

#include "server/rpc/call/wire_counts.h"
#include "session/limits.h"

#include "absl/status/status.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/message_lite.h"
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

namespace holdfast {

using Bytes = grpc::ByteBuffer;

// TOO_LARGE on its field when a message has more elements than a repeated field may have. Looks at
// the bytes alone: elements without a byte of their own take neither memory nor time.
absl::Status CheckCounts(const Bytes& bytes, const WireCounts& counts);

// Parses `bytes`, whose elements were counted, into `message`, which is allocated in `arena`. A few
// bytes on the wire may become a message of a hundred in memory: as soon as the arena holds more
// than `most` bytes it is TOO_LARGE on `request`. INVALID_FIELD on `request` for what is no message
// of this kind, for example a text that is not UTF-8.
absl::Status Parse(const Bytes& bytes, size_t most, const google::protobuf::Arena& arena,
                   google::protobuf::MessageLite& message);

Bytes ToBytes(const google::protobuf::MessageLite& message);

// A message of the client and the arena that it is allocated in.
template <typename Message>
class Received final {
 public:
  Received() = default;
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;
  ~Received() = default;

  // As the functions above. Parse is called once, after the other.
  absl::Status CheckCounts(const Bytes& bytes) const {
    static const WireCounts kCounts(*Message::descriptor());
    return holdfast::CheckCounts(bytes, kCounts);
  }
  absl::Status Parse(const Bytes& bytes, size_t most) {
    return holdfast::Parse(bytes, most, arena_, *message_);
  }
  // To be read, and taken apart.
  Message& operator*() { return *message_; }
  // What its arena takes.
  [[nodiscard]] size_t ArenaBytes() const { return arena_.SpaceAllocated(); }

 private:
  google::protobuf::Arena arena_;
  Message* const message_ = google::protobuf::Arena::CreateMessage<Message>(&arena_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_WIRE_H_
