#include "store-postgres/pg/params.h"

#include "platform/big_endian.h"
#include "store-postgres/pg/wire_types.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstddef>

namespace holdfast::pg {
namespace {

constexpr uint32_t kNullLength = 0xFFFFFFFF;

template <typename T>
std::vector<std::optional<std::string_view>> Present(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

// Of a text: the bytes of `bytes` from `begin` on.
void ReplaceZeros(std::string& bytes, size_t begin) {
  std::replace(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(), '\0', '\1');
}

}  // namespace

void Params::Reserve(size_t bytes) { bytes_.reserve(bytes); }

Params& Params::Text(std::string_view value) {
  Begin(kText);
  bytes_.append(value);
  ReplaceZeros(bytes_, fields_.back().begin);
  return End();
}

Params& Params::Bytes(std::string_view value) {
  Begin(kBytea);
  bytes_.append(value);
  return End();
}

Params& Params::Int(int64_t value) {
  Begin(kInt8);
  LongWord(static_cast<uint64_t>(value));
  return End();
}

Params& Params::Int4(int32_t value) {
  Begin(kInt4);
  Word(static_cast<uint32_t>(value));
  return End();
}

Params& Params::Bool(bool value) {
  Begin(kBool);
  bytes_.push_back(value ? '\1' : '\0');
  return End();
}

Params& Params::Time(absl::Time value) {
  Begin(kTimestamptz);
  // Durations beyond the range become its ends, which are PostgreSQL's infinities.
  LongWord(static_cast<uint64_t>(absl::ToInt64Microseconds(value - Epoch())));
  return End();
}

Params& Params::Interval(absl::Duration value) {
  Begin(kInterval);
  LongWord(static_cast<uint64_t>(absl::ToInt64Microseconds(value)));
  Word(0);  // days
  Word(0);  // months
  return End();
}

Params& Params::Null() {
  fields_.push_back({.type = 0, .present = false, .begin = bytes_.size(), .size = 0});
  return *this;
}

Params& Params::Texts(const std::vector<std::string>& values) {
  return TextLike(kTextArray, Present(values));
}

Params& Params::NullableTexts(const std::vector<std::optional<std::string_view>>& values) {
  return TextLike(kTextArray, values);
}

Params& Params::BytesArray(const std::vector<std::string_view>& values) {
  return TextLike(kByteaArray, Present(values));
}

Params& Params::NullableBytesArray(const std::vector<std::optional<std::string_view>>& values) {
  return TextLike(kByteaArray, values);
}

Params& Params::PiecesArray(const std::vector<absl::Span<const std::string_view>>& values) {
  const bool nulls = std::ranges::any_of(values, [](const auto& value) { return value.empty(); });
  BeginArray(kByteaArray, values.size(), nulls ? Nulls::kSome : Nulls::kNone);
  for (const absl::Span<const std::string_view> pieces : values) {
    if (pieces.empty()) {
      Word(kNullLength);
      continue;
    }
    size_t size = 0;
    for (const std::string_view piece : pieces) size += piece.size();
    Word(static_cast<uint32_t>(size));
    for (const std::string_view piece : pieces) bytes_.append(piece);
  }
  return End();
}

Params& Params::Ints(const std::vector<int64_t>& values) {
  BeginArray(kInt8Array, values.size(), Nulls::kNone);
  for (const int64_t value : values) {
    Word(sizeof(value));
    LongWord(static_cast<uint64_t>(value));
  }
  return End();
}

Params& Params::NullableInts(const std::vector<std::optional<int64_t>>& values) {
  BeginArray(kInt8Array, values.size(), Nulls::kSome);
  for (const std::optional<int64_t>& value : values) {
    if (!value) {
      Word(kNullLength);
      continue;
    }
    Word(sizeof(*value));
    LongWord(static_cast<uint64_t>(*value));
  }
  return End();
}

Params& Params::Int4s(const std::vector<int32_t>& values) {
  BeginArray(kInt4Array, values.size(), Nulls::kNone);
  for (const int32_t value : values) {
    Word(sizeof(value));
    Word(static_cast<uint32_t>(value));
  }
  return End();
}

Params& Params::Bools(const std::vector<bool>& values) {
  BeginArray(kBoolArray, values.size(), Nulls::kNone);
  for (const bool value : values) Element(std::string_view(value ? "\1" : "\0", 1));
  return End();
}

Params& Params::Named(const char* name, const char* cast) {
  names_.push_back({.name = name, .cast = cast});
  return *this;
}

std::string Params::NamedArguments() const {
  std::string arguments;
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto& [name, cast] = names_[i];
    absl::StrAppend(&arguments, i > 0 ? ", " : "", name, " => $", i + 1);
    if (cast != nullptr) absl::StrAppend(&arguments, "::", cast);
  }
  return arguments;
}

std::string_view Params::Value(size_t index) const {
  return std::string_view(bytes_).substr(fields_[index].begin, fields_[index].size);
}

void Params::Begin(uint32_t type) {
  fields_.push_back({.type = type, .present = true, .begin = bytes_.size(), .size = 0});
}

Params& Params::End() {
  fields_.back().size = bytes_.size() - fields_.back().begin;
  return *this;
}

void Params::Word(uint32_t value) { AppendBigEndian(value, bytes_); }

void Params::LongWord(uint64_t value) { AppendBigEndian(value, bytes_); }

void Params::Element(std::string_view value) {
  Word(static_cast<uint32_t>(value.size()));
  bytes_.append(value);
}

// An array of one dimension that counts from 1; one without elements has no dimension.
void Params::BeginArray(const ArrayType& type, size_t count, Nulls nulls) {
  Begin(type.array);
  Word(count == 0 ? 0 : 1);
  Word(nulls == Nulls::kSome ? 1 : 0);
  Word(type.element);
  if (count == 0) return;
  Word(static_cast<uint32_t>(count));
  Word(1);
}

Params& Params::TextLike(const ArrayType& type,
                         const std::vector<std::optional<std::string_view>>& values) {
  const bool nulls = std::any_of(values.begin(), values.end(),
                                 [](const auto& value) { return !value.has_value(); });
  BeginArray(type, values.size(), nulls ? Nulls::kSome : Nulls::kNone);
  for (const std::optional<std::string_view>& value : values) {
    if (value) {
      Element(*value);
      if (type.element == kText) ReplaceZeros(bytes_, bytes_.size() - value->size());
    } else {
      Word(kNullLength);
    }
  }
  return End();
}

}  // namespace holdfast::pg
