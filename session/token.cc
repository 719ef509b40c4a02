#include "session/token.h"

#include "platform/encoding.h"
#include "session/limits.h"

#include "absl/strings/escaping.h"

#include <cstdint>

namespace holdfast {
namespace {

constexpr std::string_view kPrefix = "hf1.";
constexpr size_t kUuidBytes = 16;

}  // namespace

std::string LeaseToken::ToText() const {
  Encoder out;
  out.Raw(UuidBytes(store.value())).Raw(UuidBytes(uid.value())).Raw(secret);
  out.Number(incarnation.value()).Number(epoch.value());
  return std::string(kPrefix) + absl::WebSafeBase64Escape(out.bytes());
}

std::optional<LeaseToken> LeaseToken::Parse(std::string_view text) {
  if (!text.starts_with(kPrefix) || text.size() > kTokenBytes) return std::nullopt;
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(std::string(text.substr(kPrefix.size())), &bytes)) {
    return std::nullopt;
  }
  Decoder in(bytes);
  const std::string_view store = in.Raw(kUuidBytes);
  const std::string_view uid = in.Raw(kUuidBytes);
  LeaseToken token;
  token.secret = std::string(in.Raw(kSecretBytes));
  token.incarnation = Incarnation(in.Number());
  token.epoch = Epoch(in.Number());
  if (!in.Done()) return std::nullopt;
  // The version and variant bits are part of the bytes, so the text comes back as it was.
  token.store = *StoreId::Parse(UuidText(store, static_cast<uint8_t>(store[6]) >> 4));
  token.uid = *SessionUid::Parse(UuidText(uid, static_cast<uint8_t>(uid[6]) >> 4));
  // A token has exactly one text: a copy with other padding is not valid.
  if (token.ToText() != text) return std::nullopt;
  return token;
}

}  // namespace holdfast
