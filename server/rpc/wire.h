// Messages as they cross the wire: bytes, until their call is let in, and then parsed into no more
// memory than the call was given.
#ifndef HOLDFAST_SERVER_RPC_WIRE_H_
#define HOLDFAST_SERVER_RPC_WIRE_H_

#include "session/limits.h"

#include "absl/status/status.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/message_lite.h"
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

namespace holdfast {

using Bytes = grpc::ByteBuffer;

// Parses `bytes` into `message`, which stands in `arena`. A few bytes on the wire may become a
// message of a hundred in memory: as soon as the arena holds more than `most` bytes it is TOO_LARGE
// on `request`. INVALID_FIELD on `request` for what is no message of this kind, for example a text
// that is not UTF-8.
absl::Status Parse(const Bytes& bytes, size_t most, const google::protobuf::Arena& arena,
                   google::protobuf::MessageLite& message);

Bytes ToBytes(const google::protobuf::MessageLite& message);

// A message of the client and the memory that it stands in.
template <typename Message>
class Received final {
 public:
  Received() = default;
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;
  ~Received() = default;

  // As the function above; called once.
  absl::Status Parse(const Bytes& bytes, size_t most) {
    return holdfast::Parse(bytes, most, arena_, *message_);
  }
  const Message& operator*() const { return *message_; }

 private:
  google::protobuf::Arena arena_;
  Message* const message_ = google::protobuf::Arena::CreateMessage<Message>(&arena_);
};

// The request that opens a stream. Small, so it is parsed before its call is let in.
template <typename Message>
class Opening final {
 public:
  explicit Opening(const Bytes& bytes)
      : bytes_(bytes.Length()), parsed_(received_.Parse(bytes, kParsedOpeningBytes)) {}

  const Message& operator*() const { return *received_; }
  // On the wire.
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // Whether it could be parsed, as Parse says.
  [[nodiscard]] const absl::Status& parsed() const { return parsed_; }

 private:
  const size_t bytes_;
  Received<Message> received_;
  const absl::Status parsed_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WIRE_H_
