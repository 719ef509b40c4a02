#include "session/grant_correlation.h"

#include "platform/digest.h"

#include "absl/strings/ascii.h"

namespace holdfast {
namespace {

constexpr int kDerivedUuid = 8;

std::string WithoutDashes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (const char c : text) {
    if (c != '-') plain += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return plain;
}

}  // namespace

std::string GrantCorrelation(const RequestId& request) {
  const Digest digest = Sha256("grant" + request.value());
  return UuidText(View(digest), kDerivedUuid);
}

bool Mentions(std::string_view text, const RequestId& request) {
  return WithoutDashes(text).find(WithoutDashes(request.value())) != std::string::npos;
}

}  // namespace holdfast
