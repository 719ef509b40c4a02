// The parameters of one statement, in PostgreSQL's binary format, in order.
//
//   Params params;
//   params.Text(tenant).Text(session).Int(version).Bytes(head);
//
// Each parameter names its type to the server, so that SQL which expects another one fails when it
// is prepared. A null names none: SQL casts a parameter that may be null ($3::bytea).
#ifndef HOLDFAST_STORE_POSTGRES_PG_PARAMS_H_
#define HOLDFAST_STORE_POSTGRES_PG_PARAMS_H_

#include "absl/time/time.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::pg {

struct ArrayType;

// For one thread. Owns copies of what it is given.
class Params {
 public:
  // Makes room for so many bytes of values, which are then copied once.
  void Reserve(size_t bytes);

  // text, which can hold no zero byte: 1 is sent instead. Names that are stored are printable and
  // have neither, so a name with a zero byte finds nothing, as it should.
  Params& Text(std::string_view value);
  Params& Bytes(std::string_view value);   // bytea
  Params& Int(int64_t value);              // bigint
  Params& Int4(int32_t value);             // integer
  Params& Bool(bool value);                // boolean
  Params& Time(absl::Time value);          // timestamptz; the infinities are its infinities
  Params& Interval(absl::Duration value);  // interval of microseconds; must be finite
  Params& Null();

  // Arrays of one dimension. An element without a value is null.
  Params& Texts(const std::vector<std::string>& values);
  Params& NullableTexts(const std::vector<std::optional<std::string_view>>& values);
  Params& BytesArray(const std::vector<std::string_view>& values);
  Params& NullableBytesArray(const std::vector<std::optional<std::string_view>>& values);
  // Of bytea: each element in pieces, one behind the other; one without pieces is null.
  Params& PiecesArray(const std::vector<absl::Span<const std::string_view>>& values);
  Params& Ints(const std::vector<int64_t>& values);
  Params& NullableInts(const std::vector<std::optional<int64_t>>& values);
  Params& Int4s(const std::vector<int32_t>& values);
  Params& Bools(const std::vector<bool>& values);

  // The next parameter is the one that a function calls so. `cast`: to this type, for one that may
  // be null or comes as another type. Both texts have static storage.
  Params& Named(const char* name, const char* cast = nullptr);
  // The arguments of a function, all of whose parameters have been named: `p_a => $1, p_b => $2`.
  [[nodiscard]] std::string NamedArguments() const;

  [[nodiscard]] size_t size() const { return fields_.size(); }
  [[nodiscard]] bool IsNull(size_t index) const { return !fields_[index].present; }
  // The bytes that are sent; empty for a null. Valid until the next parameter is added.
  [[nodiscard]] std::string_view Value(size_t index) const;
  // The number of the type in PostgreSQL's catalog; 0 for a null.
  [[nodiscard]] uint32_t Type(size_t index) const { return fields_[index].type; }

 private:
  struct Field {
    uint32_t type;
    bool present;
    size_t begin;
    size_t size;
  };

  struct Name {
    const char* name;
    const char* cast;
  };

  // Whether an array says of itself that elements may be missing.
  enum class Nulls : uint8_t { kNone, kSome };

  void Begin(uint32_t type);
  Params& End();
  void Word(uint32_t value);
  void LongWord(uint64_t value);
  void Element(std::string_view value);
  void BeginArray(const ArrayType& type, size_t count, Nulls nulls);
  Params& TextLike(const ArrayType& type,
                   const std::vector<std::optional<std::string_view>>& values);

  std::string bytes_;  // of all fields, one behind the other
  std::vector<Field> fields_;
  std::vector<Name> names_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_PARAMS_H_
