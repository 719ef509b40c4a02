#include "server/rpc/call/wire.h"

#include "platform/thread_check.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "google/protobuf/io/zero_copy_stream.h"
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace holdfast {
namespace {

// What is parsed before the arena is looked at again.
constexpr size_t kStepBytes = 16 * kKiB;

// The bytes of a request, which end early when what was made of them takes too much memory.
class BoundedInput final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  // Both must outlive this.
  BoundedInput(const std::vector<grpc::Slice>& slices, const google::protobuf::Arena& arena,
               size_t most)
      : arena_(arena), most_(most), slices_(slices) {}

  bool Next(const void** data, int* size) override {
    while (slice_ < slices_.size() && at_ == slices_[slice_].size()) {
      ++slice_;
      at_ = 0;
    }
    if (slice_ == slices_.size()) return false;
    exceeded_ = arena_.SpaceAllocated() > most_;
    if (exceeded_) return false;
    const grpc::Slice& slice = slices_[slice_];
    const size_t step = std::min(kStepBytes, slice.size() - at_);
    *data = slice.begin() + at_;
    *size = static_cast<int>(step);
    at_ += step;
    taken_ += static_cast<int64_t>(step);
    return true;
  }

  void BackUp(int count) override {
    at_ -= static_cast<size_t>(count);
    taken_ -= count;
  }

  bool Skip(int count) override {
    const void* data = nullptr;
    int size = 0;
    while (count > 0 && Next(&data, &size)) {
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return count == 0;
  }

  [[nodiscard]] int64_t ByteCount() const override { return taken_; }
  [[nodiscard]] bool exceeded() const { return exceeded_; }

 private:
  const google::protobuf::Arena& arena_;
  const size_t most_;
  const std::vector<grpc::Slice>& slices_;
  size_t slice_ = 0;
  size_t at_ = 0;  // in that slice
  int64_t taken_ = 0;
  bool exceeded_ = false;
};

std::vector<grpc::Slice> SlicesOf(const Bytes& bytes) {
  std::vector<grpc::Slice> slices;
  // A buffer without a byte has no slices, and that is no error.
  if (bytes.Valid()) (void)bytes.Dump(&slices);
  return slices;
}

}  // namespace

absl::Status CheckCounts(const Bytes& bytes, const WireCounts& counts) {
  AssertOffTransport("a walk over a message");
  absl::Status counted = counts.Check(SlicesOf(bytes));
  if (Is(counted, Reason::kTooLarge)) CountRefusedByCount();
  return counted;
}

absl::Status Parse(const Bytes& bytes, size_t most, const google::protobuf::Arena& arena,
                   google::protobuf::MessageLite& message) {
  AssertOffTransport("parsing");
  CountParsed();
  const std::vector<grpc::Slice> slices = SlicesOf(bytes);
  BoundedInput input(slices, arena, most);
  const bool parsed = message.ParseFromZeroCopyStream(&input);
  // What ends early may well be a message: a shorter one.
  if (input.exceeded()) return TooLarge("request", most, arena.SpaceAllocated());
  if (!parsed) return InvalidField("request", "is no message of its kind");
  return absl::OkStatus();
}

Bytes ToBytes(const google::protobuf::MessageLite& message) {
  Bytes bytes;
  bool own = false;
  // A message of ours can always be written.
  (void)grpc::SerializationTraits<google::protobuf::MessageLite>::Serialize(message, &bytes, &own);
  return bytes;
}

}  // namespace holdfast
