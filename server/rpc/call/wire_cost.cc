#include "server/rpc/call/wire_cost.h"

#include "session/limits.h"

#include "absl/container/flat_hash_map.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"
#include "google/protobuf/wire_format_lite.h"
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstdint>

namespace holdfast {
namespace {

using MessageDescriptor = google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// A message of no more bytes than this counts as the worst that it may be.
constexpr size_t kUnmeasuredBytes = 1 * kKiB;
// An array that has just grown has room for as much again, and leaves its former places behind in
// the arena.
constexpr size_t kArrayPlaceBytes = 4 * sizeof(void*);
// A text without its bytes, and the note of the arena to destroy it.
constexpr size_t kTextBytes = 48;
// What the allocator adds to the bytes of a text.
constexpr size_t kAllocationBytes = 16;
// The entry of a map beside its key and value.
constexpr size_t kMapEntryBytes = 128;
// A field that the type does not have: in an array that grows, with a text or a group of its own.
constexpr size_t kUnknownFieldBytes = 112;
// One in so many bytes of the arena is the rest of a block.
constexpr size_t kBytesPerRest = 16;
// Deeper messages are not parsed.
constexpr int kMessageDepthMost = 100;

size_t EmptySizeOf(const MessageDescriptor& type);

// The size of an empty message that is measured for the first time.
size_t MeasureEmpty(const MessageDescriptor& type) {
  // The library cannot measure the entry of a map whose values are messages. A value that the
  // request leaves out is in the map all the same.
  const FieldDescriptor* const value = type.options().map_entry() ? type.field(1) : nullptr;
  if (value != nullptr && value->message_type() != nullptr) {
    return kMapEntryBytes + EmptySizeOf(*value->message_type());
  }
  const google::protobuf::Message* const prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
  return prototype == nullptr ? kKiB : prototype->SpaceUsedLong();
}

size_t EmptySizeOf(const MessageDescriptor& type) {
  thread_local absl::flat_hash_map<const MessageDescriptor*, size_t> known;
  const auto found = known.find(&type);
  if (found != known.end()) return found->second;
  return known[&type] = MeasureEmpty(type);
}

// Adds up the cost of one message. What is malformed ends the walk: the parser ends there too.
class Meter final {
 public:
  explicit Meter(const Bytes& bytes) : bytes_(bytes), reader_(&bytes_), in_(&reader_) {}

  ParsedSize Measure(const MessageDescriptor& type) {
    size_.arena += EmptySizeOf(type);
    (void)Walk(type, 0);
    return size_;
  }

 private:
  // Up to the end of the message. False for what is malformed.
  bool Walk(const MessageDescriptor& type, int depth) {
    if (depth > kMessageDepthMost) return false;
    int groups = 0;
    while (const uint32_t tag = in_.ReadTagNoLastTag()) {
      const bool group_ends =
          WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_END_GROUP;
      if (group_ends && --groups < 0) return false;
      if (group_ends) continue;
      const FieldDescriptor* const field =
          groups > 0 ? nullptr : type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (!Take(tag, field, depth, groups)) return false;
    }
    return true;
  }

  bool Take(uint32_t tag, const FieldDescriptor* field, int depth, int& groups) {
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return TakeBytes(field, depth);
      case WireFormatLite::WIRETYPE_START_GROUP:
        ++groups;
        AddUnknown(0);
        return true;
      default:
        if (field == nullptr) AddUnknown(0);
        if (field != nullptr && field->is_repeated()) size_.arena += kArrayPlaceBytes;
        return WireFormatLite::SkipField(&in_, tag);
    }
  }

  bool TakeBytes(const FieldDescriptor* field, int depth) {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || length > kTransportMessageBytes) return false;
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return TakeMessage(length, *field, depth);
    }
    const bool text = field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (text) {
      size_.arena += kTextBytes + kArrayPlaceBytes;
      size_.heap += length + kAllocationBytes;
    } else if (field != nullptr && field->is_packable()) {
      size_.arena += length * kArrayPlaceBytes;  // each byte may be a number
    } else if (field == nullptr) {
      AddUnknown(length);
    } else {
      size_.heap += length + kUnknownFieldBytes;
    }
    return in_.Skip(static_cast<int>(length));
  }

  void AddUnknown(size_t length) {
    size_.heap += length + kUnknownFieldBytes;
    size_.unknown += length + kUnknownFieldBytes;
  }

  bool TakeMessage(uint32_t length, const FieldDescriptor& field, int depth) {
    const MessageDescriptor& type = *field.message_type();
    size_.arena += EmptySizeOf(type) + kArrayPlaceBytes + (field.is_map() ? kMapEntryBytes : 0);
    const auto limit = in_.PushLimit(static_cast<int>(length));
    const bool whole = Walk(type, depth + 1) && in_.BytesUntilLimit() == 0;
    in_.PopLimit(limit);
    return whole;
  }

  Bytes bytes_;  // shares what it was made of
  grpc::ProtoBufferReader reader_;
  google::protobuf::io::CodedInputStream in_;
  ParsedSize size_;
};

}  // namespace

ParsedSize SizeWhenParsed(const Bytes& bytes, const MessageDescriptor& type) {
  const size_t length = bytes.Valid() ? bytes.Length() : 0;
  if (length <= kUnmeasuredBytes) {
    return {.arena = kParsedBytesLeast + length * kParsedBytesPerWireByte, .heap = length};
  }
  ParsedSize size = Meter(bytes).Measure(type);
  size.arena += size.arena / kBytesPerRest + kParsedBytesLeast;
  return size;
}

}  // namespace holdfast
