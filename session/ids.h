// Strong ids and numbers: swapped arguments do not compile, and an id exists only if its text is
// valid.
//
//   ASSIGN_OR_RETURN(SessionId id, SessionId::Parse(text));
//   Revision next = head.revision.Next();
#ifndef HOLDFAST_SESSION_IDS_H_
#define HOLDFAST_SESSION_IDS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// A validated text id. The tag says which check `Parse` applies.
template <typename Tag>
class Id {
 public:
  // The id, or nullopt when `text` is not one. `Tag::Why()` says in words what is.
  static std::optional<Id> Parse(std::string_view text) {
    if (!Tag::Valid(text)) return std::nullopt;
    return Id(std::string(text));
  }
  Id() = default;  // the empty id, equal to no parsed one

  [[nodiscard]] const std::string& value() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  auto operator<=>(const Id&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const Id& id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  explicit Id(std::string value) : value_(std::move(value)) {}
  std::string value_;
};

// A counter given by the store. 0 means "none yet".
template <typename Tag>
class Number {
 public:
  constexpr Number() = default;
  constexpr explicit Number(uint64_t value) : value_(value) {}

  [[nodiscard]] constexpr uint64_t value() const { return value_; }
  [[nodiscard]] constexpr Number Next() const { return Number(value_ + 1); }
  constexpr auto operator<=>(const Number&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const Number& number) {
    return H::combine(std::move(state), number.value_);
  }

 private:
  uint64_t value_ = 0;
};

struct TenantTag {  // [A-Za-z0-9._-]{1,64}
  static bool Valid(std::string_view text);
  static std::string_view Why();
};
struct SessionTag {  // [A-Za-z0-9._-]{1,128}, not "." or ".."
  static bool Valid(std::string_view text);
  static std::string_view Why();
};
struct UuidTag {  // 8-4-4-4-12 lower-case hexadecimal digits
  static bool Valid(std::string_view text);
  static std::string_view Why();
};
struct RequestTag : UuidTag {};
struct StoreTag : UuidTag {};
struct SessionUidTag : UuidTag {};
struct UploadTag : UuidTag {};

using TenantId = Id<TenantTag>;
using SessionId = Id<SessionTag>;
using RequestId = Id<RequestTag>;
using StoreId = Id<StoreTag>;
using SessionUid = Id<SessionUidTag>;
using UploadId = Id<UploadTag>;

using Revision = Number<struct RevisionTag>;
using Epoch = Number<struct EpochTag>;
using TurnNumber = Number<struct TurnTag>;
using EntryNumber = Number<struct EntryTag>;
using JournalNumber = Number<struct JournalTag>;
using MessageSeq = Number<struct MessageTag>;
using EventSeq = Number<struct EventTag>;
using AuditSeq = Number<struct AuditTag>;
using Generation = Number<struct GenerationTag>;
using Incarnation = Number<struct IncarnationTag>;
using ItemVersion = Number<struct ItemTag>;

// Names one session of one tenant.
struct SessionKey {
  TenantId tenant;
  SessionId session;
  auto operator<=>(const SessionKey&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const SessionKey& key) {
    return H::combine(std::move(state), key.tenant, key.session);
  }
};

// 16 bytes as a UUID's text, with version and variant set. Version 4 says random, 8 says derived.
std::string UuidText(std::string_view bytes16, int version);

// The 16 bytes behind a UUID's text; empty when `text` is not one.
std::string UuidBytes(std::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_IDS_H_
