#include "tests/history/history.h"

#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace holdfast::history {
namespace {

constexpr std::array<std::string_view, 12> kMethods = {
    "Create",  "Resume", "Begin", "Append",   "Commit",       "Abandon",
    "Release", "Close",  "Renew", "ReadHead", "ReadMessages", "ReadSlot"};
constexpr std::array<std::string_view, 12> kCauses = {"-",
                                                      "FENCED",
                                                      "LEASE_REQUIRED",
                                                      "LEASE_HELD",
                                                      "CONCURRENT_TURN",
                                                      "ILLEGAL_TRANSITION",
                                                      "STALE_TURN",
                                                      "STALE_REVISION",
                                                      "SESSION_EXISTS",
                                                      "SESSION_NOT_FOUND",
                                                      "no-effect",
                                                      "other"};
constexpr size_t kUuidBytes = 16;

uint64_t Half(std::string_view bytes) {
  uint64_t half = 0;
  for (const char byte : bytes.substr(0, sizeof(half))) {
    half = half << 8U | static_cast<uint8_t>(byte);
  }
  return half;
}

}  // namespace

std::string_view Name(Method method) { return kMethods[static_cast<size_t>(method)]; }
bool Mutates(Method method) {
  return method != Method::kReadHead && method != Method::kReadMessages &&
         method != Method::kReadSlot;
}
std::string_view Name(Cause cause) { return kCauses[static_cast<size_t>(cause)]; }

std::string ToText(const Uuid& id) {
  std::string text =
      absl::StrCat(absl::Hex(id.high, absl::kZeroPad16), absl::Hex(id.low, absl::kZeroPad16));
  for (const size_t at : {8, 13, 18, 23}) text.insert(at, 1, '-');
  return text;
}

Uuid UuidFrom(std::string_view text) {
  const std::string bytes = UuidBytes(text);
  if (bytes.size() != kUuidBytes) return {};
  return {.high = Half(bytes), .low = Half(std::string_view(bytes).substr(kUuidBytes / 2))};
}

Digest Extend(const Digest& before, const Digest& item) {
  Message message;
  message.role = kRole;
  message.content_type = kContentType;
  message.staged.emplace().digest = item;
  return ExtendHistory(before, message);
}

std::string Describe(const Operation& operation) {
  const Asked& asked = operation.asked;
  std::string text =
      absl::StrCat("client ", operation.client, ", ", std::string(Name(asked.method)), " ",
                   operation.number, " of session ", asked.session);
  if (asked.request != Uuid()) absl::StrAppend(&text, " (request ", ToText(asked.request), ")");
  return text;
}

}  // namespace holdfast::history
