#include "session/check_command.h"

#include "session/limits.h"
#include "session/refusal.h"

#include "absl/strings/match.h"
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::test {
namespace {

constexpr char kKnownSecret[] = "hunter2";

// Knows one secret, and counts the bytes that it has looked through.
class CountingScanner final : public SecretScanner {
 public:
  [[nodiscard]] std::optional<size_t> Find(std::string_view bytes) const override {
    searched_ += bytes.size();
    const size_t at = bytes.find(kKnownSecret);
    return at == std::string_view::npos ? std::nullopt : std::optional(at);
  }
  [[nodiscard]] size_t LongestBytes() const override { return sizeof kKnownSecret - 1; }
  [[nodiscard]] size_t searched() const { return searched_; }

 private:
  mutable size_t searched_ = 0;
};

UpdateCommand UpdateOf(const std::string& key, const std::string& value) {
  return {.request = *RequestId::Parse("0c6b1c7e-6d2f-4c7e-9d3a-2f8f0e6f9a01"),
          .session = *SessionId::Parse("one"),
          .attributes = {{key, value}}};
}

TEST(CheckCommand, SearchesNothingOfACommandOverALimit) {
  const CountingScanner secrets;
  const std::string large(kMiB, 'x');
  const absl::Status status = CheckCommand(secrets, UpdateOf("title", large));
  EXPECT_TRUE(Is(status, Reason::kTooLarge)) << status;
  EXPECT_LT(secrets.searched(), 100U) << "the value was searched before its size was checked";
}

TEST(CheckCommand, SearchesWhatIsWithinTheLimits) {
  const CountingScanner secrets;
  const absl::Status status = CheckCommand(secrets, UpdateOf("title", "my hunter2"));
  EXPECT_TRUE(Is(status, Reason::kSecretLeak)) << status;
  EXPECT_EQ(CheckCommand(secrets, UpdateOf("title", "quiet")), absl::OkStatus());
}

// The field of an attribute contains its key.
TEST(CheckCommand, NamesNoSecretWhenItRefusesASize) {
  const CountingScanner secrets;
  const std::string large(kAttributeValueBytes + 1, 'x');
  const absl::Status status = CheckCommand(secrets, UpdateOf(kKnownSecret, large));
  EXPECT_TRUE(Is(status, Reason::kSecretLeak)) << status;
  const Refusal refusal = RefusalOf(status);
  EXPECT_FALSE(absl::StrContains(refusal.message(), kKnownSecret));
  for (const auto& [name, value] : refusal.facts()) {
    EXPECT_FALSE(absl::StrContains(value, kKnownSecret)) << name;
  }
}

}  // namespace
}  // namespace holdfast::test
