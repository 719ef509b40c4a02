#include "session/secrets/secret_scan.h"

#include "platform/thread_check.h"

#include <algorithm>

namespace holdfast {
namespace {

class FindsNothing final : public SecretScanner {
 public:
  [[nodiscard]] std::optional<size_t> Find(std::string_view) const override { return std::nullopt; }
  [[nodiscard]] size_t LongestBytes() const override { return 0; }
};

}  // namespace

const SecretScanner& NoSecrets() {
  static const FindsNothing kNothing;
  return kNothing;
}

std::optional<uint64_t> SecretStream::Feed(std::string_view piece) {
  AssertOffTransport("a search for secrets");
  const size_t longest = scanner_.LongestBytes();
  if (longest == 0) return std::nullopt;
  const size_t keep = longest - 1;
  const uint64_t start = fed_ - tail_.size();  // of the border's text
  fed_ += piece.size();
  if (!tail_.empty()) {
    const std::string border = tail_ + std::string(piece.substr(0, keep));
    if (const auto at = scanner_.Find(border)) return start + *at;
  }
  if (const auto at = scanner_.Find(piece)) return fed_ - piece.size() + *at;
  tail_.append(piece.substr(piece.size() - std::min(piece.size(), keep)));
  tail_.erase(0, tail_.size() - std::min(tail_.size(), keep));
  return std::nullopt;
}

}  // namespace holdfast
