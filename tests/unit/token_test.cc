#include "session/token.h"

#include "session/limits.h"
#include "tests/support/seeded_random.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast {
namespace {

LeaseToken RandomToken(Random& random, int version) {
  return {.store = *StoreId::Parse(UuidText(random.Bytes(16), version)),
          .incarnation = Incarnation(1),
          .uid = *SessionUid::Parse(UuidText(random.Bytes(16), version)),
          .epoch = Epoch(7),
          .secret = random.Bytes(kSecretBytes)};
}

TEST(LeaseToken, ComesBackFromItsText) {
  test::SeededRandom random;
  for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{300}, UINT64_MAX}) {
    for (const int version : {4, 8}) {
      LeaseToken token = RandomToken(random, version);
      token.epoch = Epoch(epoch);
      const std::string text = token.ToText();
      EXPECT_LE(text.size(), kTokenBytes);
      EXPECT_TRUE(text.starts_with("hf1."));
      const auto parsed = LeaseToken::Parse(text);
      ASSERT_TRUE(parsed.has_value()) << text;
      EXPECT_EQ(parsed->store, token.store);
      EXPECT_EQ(parsed->uid, token.uid);
      EXPECT_EQ(parsed->incarnation, token.incarnation);
      EXPECT_EQ(parsed->epoch, token.epoch);
      EXPECT_EQ(parsed->secret, token.secret);
    }
  }
}

TEST(LeaseToken, NothingElseIsOne) {
  test::SeededRandom random;
  const std::string text = RandomToken(random, 4).ToText();
  EXPECT_FALSE(LeaseToken::Parse("").has_value());
  EXPECT_FALSE(LeaseToken::Parse("hf1.").has_value());
  EXPECT_FALSE(LeaseToken::Parse("hf2." + text.substr(4)).has_value());
  EXPECT_FALSE(LeaseToken::Parse(text.substr(4)).has_value());
  EXPECT_FALSE(LeaseToken::Parse(text + " ").has_value());
  EXPECT_FALSE(LeaseToken::Parse(text + "AAAA").has_value());
  EXPECT_FALSE(LeaseToken::Parse(std::string(kTokenBytes + 1, 'A')).has_value());
  for (size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_FALSE(LeaseToken::Parse(text.substr(0, cut)).has_value()) << cut;
  }
}

TEST(LeaseToken, AcceptsOneTextPerToken) {
  test::SeededRandom random;
  const LeaseToken token = RandomToken(random, 4);
  const std::string text = token.ToText();
  int others = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'A', 'B', 'z', '9', '-', '_', '=', '+', '\0'}) {
      std::string changed = text;
      changed[at] = c;
      if (changed == text) continue;
      const auto parsed = LeaseToken::Parse(changed);
      if (!parsed) continue;
      ++others;
      EXPECT_EQ(parsed->ToText(), changed);
    }
  }
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace holdfast
