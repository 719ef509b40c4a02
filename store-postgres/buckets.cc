#include "store-postgres/buckets.h"

#include "platform/digest.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace holdfast::pg {
namespace {

// Of more it is not said which; each takes three digits.
constexpr size_t kNamedMost = 1024;
constexpr size_t kDigitBits = 4;
constexpr size_t kBucketDigits = 3;
static_assert(kBuckets == size_t{1} << (kBucketDigits * kDigitBits));

constexpr char kHex[] = "0123456789abcdef";
constexpr std::string_view kAny = "*";

void Append(size_t bucket, std::string& to) {
  for (size_t digit = kBucketDigits; digit > 0; --digit) {
    to += kHex[(bucket >> ((digit - 1) * kDigitBits)) & 0xF];
  }
}

// The buckets that `digits` name; nullopt when they name none.
std::optional<Buckets> ReadNamed(std::string_view digits) {
  Buckets buckets;
  if (digits.empty() || digits.size() % kBucketDigits != 0) return std::nullopt;
  for (size_t at = 0; at < digits.size(); at += kBucketDigits) {
    size_t bucket = 0;
    for (const char digit : digits.substr(at, kBucketDigits)) {
      const size_t value = std::string_view(kHex).find(digit);
      if (value == std::string_view::npos) return std::nullopt;
      bucket = bucket << kDigitBits | value;
    }
    buckets.set(bucket);
  }
  return buckets;
}

}  // namespace

size_t BucketOf(const SessionKey& key) {
  // No name has a zero byte.
  const Digest digest =
      Sha256(absl::StrCat(key.tenant.value(), std::string(1, '\0'), key.session.value()));
  return (size_t{digest[0]} << 8 | digest[1]) % kBuckets;
}

std::string ToPayload(const Notice& notice) {
  std::string payload = absl::StrCat(notice.writer, " ");
  if (notice.touched.count() > kNamedMost) return absl::StrCat(payload, std::string(kAny));
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (notice.touched.test(bucket)) Append(bucket, payload);
  }
  return payload;
}

std::optional<Notice> FromPayload(std::string_view payload) {
  const size_t space = payload.find(' ');
  Notice notice;
  if (space == std::string_view::npos ||
      !absl::SimpleAtoi(std::string(payload.substr(0, space)), &notice.writer)) {
    return std::nullopt;
  }
  const std::string_view buckets = payload.substr(space + 1);
  if (buckets == kAny) {
    notice.touched.set();
    return notice;
  }
  const std::optional<Buckets> named = ReadNamed(buckets);
  if (!named) return std::nullopt;
  notice.touched = *named;
  return notice;
}

}  // namespace holdfast::pg
