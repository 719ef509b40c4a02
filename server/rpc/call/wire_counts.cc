#include "server/rpc/call/wire_counts.h"

#include "session/refusal.h"

#include "absl/container/inlined_vector.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

using MessageDescriptor = google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Of the wire format.
enum WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};
constexpr size_t kTypeBits = 3;
constexpr size_t kVarintBytes = 10;
constexpr size_t kShortVarintBytes = 5;  // of a tag and of a length
constexpr uint8_t kMore = 0x80;
constexpr size_t kBitsPerByte = 7;
// The walk ends when the elements of a field are so many times its limit.
constexpr size_t kCountedLimits = 4;
// As deep as the library itself follows groups.
constexpr size_t kGroupDepth = 100;

std::atomic<uint64_t> refused_by_count = 0;
std::atomic<uint64_t> parsed_requests = 0;

// Bytes in several pieces, read from the front.
class Cursor {
 public:
  // `slices` must outlive this.
  explicit Cursor(const std::vector<grpc::Slice>& slices) : slices_(slices) {
    for (const grpc::Slice& slice : slices) size_ += slice.size();
    Open();
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t at() const { return at_; }

  // There must be one.
  uint8_t Byte() {
    ++at_;
    const uint8_t byte = *next_++;
    if (next_ == end_) Open();
    return byte;
  }
  // There must be so many.
  void Skip(size_t count) {
    at_ += count;
    while (count > 0) {
      const size_t step = std::min(count, static_cast<size_t>(end_ - next_));
      next_ += step;
      count -= step;
      if (next_ == end_) Open();
    }
  }

 private:
  // Goes on with the next slice that is not empty, if there is one.
  void Open() {
    while (next_ == end_ && slice_ < slices_.size()) {
      next_ = slices_[slice_].begin();
      end_ = slices_[slice_].end();
      ++slice_;
    }
  }

  const std::vector<grpc::Slice>& slices_;
  size_t size_ = 0;
  size_t at_ = 0;
  size_t slice_ = 0;  // the next one
  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;  // of the current slice
};

}  // namespace

const RepeatedLimit* FindRepeatedLimit(const FieldDescriptor& field) {
  const auto* found = std::ranges::find_if(kRepeatedLimits, [&](const RepeatedLimit& row) {
    return row.message == field.containing_type()->full_name() && row.field == field.name();
  });
  return found == kRepeatedLimits.end() ? nullptr : found;
}

WireCounts::WireCounts(const MessageDescriptor& request) {
  AddPlace(request, "", 0, /*element=*/false);
}

size_t WireCounts::AddPlace(const MessageDescriptor& message, const std::string& path, size_t depth,
                            bool element) {
  const size_t place = places_.size();
  places_.emplace_back();
  places_[place].element = element;
  places_[place].first_counter = counters_.size();
  std::vector<Field> fields;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& from = *message.field(i);
    Field field{.number = static_cast<uint32_t>(from.number()), .integer = IntegerOf(from)};
    if (field.integer != Integer::kNone) field.path = path + from.name();
    if (from.is_repeated()) field.limit = FindRepeatedLimit(from);
    if (field.limit != nullptr) {
      field.packing = PackingOf(from);
      field.counter = counters_.size();
      counters_.push_back(field.limit);
    }
    if (from.message_type() != nullptr && depth + 1 < kWireDepth) {
      const size_t before = places_.size();
      field.inside =
          AddPlace(*from.message_type(), path + from.name() + ".", depth + 1, from.is_repeated());
      if (places_[field.inside].fields.empty()) {
        places_.resize(before);  // nothing to be counted there
        field.inside = 0;
      }
    }
    const bool looked_at =
        field.limit != nullptr || field.inside != 0 || field.integer != Integer::kNone;
    if (looked_at) fields.push_back(std::move(field));
  }
  places_[place].fields = std::move(fields);
  places_[place].end_counter = counters_.size();
  return place;
}

WireCounts::Packing WireCounts::PackingOf(const FieldDescriptor& field) {
  if (!field.is_packable()) return Packing::kNone;
  switch (field.type()) {
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
    case FieldDescriptor::TYPE_FLOAT:
      return Packing::kFixed32;
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
    case FieldDescriptor::TYPE_DOUBLE:
      return Packing::kFixed64;
    default:
      return Packing::kVarint;
  }
}

// Of a duration or a point of time the parts may be negative.
WireCounts::Integer WireCounts::IntegerOf(const FieldDescriptor& field) {
  if (field.is_repeated() || field.file()->package() != "holdfast.v1") return Integer::kNone;
  switch (field.type()) {
    case FieldDescriptor::TYPE_INT32:
      return Integer::k32;
    case FieldDescriptor::TYPE_INT64:
      return Integer::k64;
    default:
      return Integer::kNone;
  }
}

class WireCounts::Walk {
 public:
  Walk(const WireCounts& counts, const std::vector<grpc::Slice>& bytes)
      : counts_(counts), cursor_(bytes), elements_(counts.counters_.size(), 0) {
    levels_.push_back({.place = 0, .end = cursor_.size()});
  }

  absl::Status Run() {
    bool whole = true;
    while (whole && !enough_ && !levels_.empty()) {
      if (cursor_.at() < levels_.back().end) {
        whole = Step();
      } else {
        levels_.pop_back();
      }
    }
    if (over_) {
      const RepeatedLimit& limit = *counts_.counters_[*over_];
      return TooLarge(limit.named.empty() ? limit.field : limit.named, limit.most, got_);
    }
    if (negative_ != nullptr) return InvalidField(negative_->path, "must not be negative");
    if (!whole) return InvalidField("request", "is no message of its kind");
    return absl::OkStatus();
  }

 private:
  // A message that the walk is in.
  struct Level {
    size_t place = 0;
    size_t end = 0;
  };
  struct Tag {
    uint32_t number = 0;
    uint8_t type = 0;
  };

  [[nodiscard]] size_t Left() const { return levels_.back().end - cursor_.at(); }

  // The next field. Each of these answers false where the bytes are no message.
  bool Step() {
    Tag tag;
    if (!ReadTag(tag)) return false;
    const Field* field = Find(tag.number);
    const Packing packing = field == nullptr ? Packing::kNone : field->packing;
    switch (tag.type) {
      case kVarint:
        if (packing == Packing::kVarint) Add(*field, 1);
        return TakeVarint(field);
      case kFixed64:
        if (packing == Packing::kFixed64) Add(*field, 1);
        return Skip(sizeof(uint64_t));
      case kFixed32:
        if (packing == Packing::kFixed32) Add(*field, 1);
        return Skip(sizeof(uint32_t));
      case kLength:
        return Enter(field);
      case kStartGroup:
        return SkipGroup(tag.number);
      default:
        return false;
    }
  }

  bool Enter(const Field* field) {
    uint32_t size = 0;
    if (!ReadSize(size)) return false;
    if (field == nullptr) return Skip(size);
    switch (field->packing) {
      case Packing::kFixed32:
        Add(*field, size / sizeof(uint32_t));
        return Skip(size);
      case Packing::kFixed64:
        Add(*field, size / sizeof(uint64_t));
        return Skip(size);
      case Packing::kVarint:
        return CountVarints(*field, size);
      case Packing::kNone:
        break;
    }
    if (field->limit != nullptr) Add(*field, 1);
    if (field->inside == 0) return Skip(size);
    const Place& place = counts_.places_[field->inside];
    if (place.element) {
      std::fill(elements_.begin() + static_cast<ptrdiff_t>(place.first_counter),
                elements_.begin() + static_cast<ptrdiff_t>(place.end_counter), 0);
    }
    levels_.push_back({.place = field->inside, .end = cursor_.at() + size});
    return true;
  }

  bool CountVarints(const Field& field, size_t size) {
    size_t count = 0;
    for (; size > 0; --size) count += (cursor_.Byte() & kMore) == 0 ? 1 : 0;
    Add(field, count);
    return true;
  }

  // One that is not known, for none of ours has any.
  bool SkipGroup(uint32_t number) {
    absl::InlinedVector<uint32_t, kGroupDepth> open = {number};
    while (!open.empty()) {
      Tag tag;
      if (!ReadTag(tag)) return false;
      if (tag.type == kStartGroup) {
        if (open.size() == kGroupDepth) return false;
        open.push_back(tag.number);
      } else if (tag.type == kEndGroup) {
        if (open.back() != tag.number) return false;
        open.pop_back();
      } else if (!SkipValue(tag.type)) {
        return false;
      }
    }
    return true;
  }

  // Of a field that is no group.
  bool SkipValue(uint8_t type) {
    uint32_t size = 0;
    switch (type) {
      case kVarint:
        return SkipVarint();
      case kLength:
        return ReadSize(size) && Skip(size);
      default:
        return Skip(type == kFixed64 ? sizeof(uint64_t) : sizeof(uint32_t));
    }
  }

  bool ReadTag(Tag& tag) {
    uint64_t value = 0;
    if (!ReadShort(value)) return false;
    // What a fifth byte says beyond 32 bits is lost to the library too.
    const auto bits = static_cast<uint32_t>(value);
    tag = {.number = bits >> kTypeBits, .type = static_cast<uint8_t>(bits & 7U)};
    return tag.number != 0 && tag.type <= kFixed32;
  }

  // Of what follows, and all of it is there.
  bool ReadSize(uint32_t& size) {
    uint64_t value = 0;
    if (!ReadShort(value) || value > Left()) return false;
    size = static_cast<uint32_t>(value);
    return true;
  }

  bool ReadShort(uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < kShortVarintBytes && Left() > 0; ++i) {
      const uint64_t byte = cursor_.Byte();
      value |= (byte & (kMore - 1U)) << (i * kBitsPerByte);
      if ((byte & kMore) == 0) return true;
    }
    return false;
  }

  bool TakeVarint(const Field* field) {
    if (field == nullptr || field->integer == Integer::kNone) return SkipVarint();
    uint64_t value = 0;
    for (size_t i = 0; i < kVarintBytes && Left() > 0; ++i) {
      const uint64_t byte = cursor_.Byte();
      value |= (byte & (kMore - 1U)) << (i * kBitsPerByte);
      if ((byte & kMore) != 0) continue;
      const bool wide = field->integer == Integer::k64;
      const bool negative =
          wide ? static_cast<int64_t>(value) < 0 : static_cast<int32_t>(value) < 0;
      if (negative && negative_ == nullptr) negative_ = field;
      return true;
    }
    return false;
  }

  bool SkipVarint() {
    for (size_t i = 0; i < kVarintBytes && Left() > 0; ++i) {
      if ((cursor_.Byte() & kMore) == 0) return true;
    }
    return false;
  }

  bool Skip(size_t size) {
    if (size > Left()) return false;
    cursor_.Skip(size);
    return true;
  }

  [[nodiscard]] const Field* Find(uint32_t number) const {
    const std::vector<Field>& fields = counts_.places_[levels_.back().place].fields;
    const auto found = std::ranges::find(fields, number, &Field::number);
    return found == fields.end() ? nullptr : &*found;
  }

  void Add(const Field& field, size_t count) {
    size_t& elements = elements_[field.counter];
    elements += count;
    if (elements <= field.limit->most) return;
    if (!over_) over_ = field.counter;
    if (*over_ == field.counter) got_ = std::max(got_, elements);
    enough_ = elements >= kCountedLimits * field.limit->most;
  }

  const WireCounts& counts_;
  Cursor cursor_;
  absl::InlinedVector<Level, kWireDepth> levels_;
  absl::InlinedVector<size_t, kRepeatedLimits.size()> elements_;  // by counter
  std::optional<size_t> over_;                                    // the first that is
  size_t got_ = 0;                                                // of that
  bool enough_ = false;                                           // one is far over its limit
  const Field* negative_ = nullptr;                               // the first that is
};

absl::Status WireCounts::Check(const std::vector<grpc::Slice>& bytes) const {
  if (!looks()) return absl::OkStatus();
  return Walk(*this, bytes).Run();
}

absl::Status WireCounts::Check(std::string_view bytes) const {
  return Check(
      std::vector{grpc::Slice(bytes.data(), bytes.size(), grpc::Slice::StaticSlice::STATIC_SLICE)});
}

WireTotals WireTotalsNow() { return {.refused = refused_by_count, .parsed = parsed_requests}; }

void CountRefusedByCount() { ++refused_by_count; }

void CountParsed() { ++parsed_requests; }

}  // namespace holdfast
