#include "server/rpc/convert/sealed_text.h"

#include "platform/digest.h"

#include "absl/strings/escaping.h"

namespace holdfast {

std::string ShortSum(std::string_view bytes) {
  return std::string(View(Sha256(bytes)).substr(0, kShortSumBytes));
}

std::string Seal(std::string_view body) {
  return absl::WebSafeBase64Escape(std::string(body) + ShortSum(body));
}

std::optional<std::string> Unseal(const std::string& text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(text, &bytes) || bytes.size() <= kShortSumBytes) {
    return std::nullopt;
  }
  const std::string sum = bytes.substr(bytes.size() - kShortSumBytes);
  bytes.resize(bytes.size() - kShortSumBytes);
  // Base64 has several spellings of one value; only the one that Seal makes is valid.
  if (ShortSum(bytes) != sum || Seal(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace holdfast
