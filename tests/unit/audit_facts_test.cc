#include "session/audit_facts.h"

#include "session/limits.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

std::string Letters(size_t count) { return std::string(count, 'v'); }

TEST(AuditFacts, ValuesWithinTheLimitStayAsTheyAre) {
  const AuditFacts facts = {{"a", ""}, {"b", Letters(kAuditValueBytes)}};
  EXPECT_EQ(CutLongFacts(facts), facts);
}

TEST(AuditFacts, ALongValueIsCutAndCounted) {
  const AuditFacts cut = CutLongFacts({{"a", Letters(kAuditValueBytes + 5)}, {"b", "short"}});
  EXPECT_EQ(cut.size(), 3U);
  EXPECT_EQ(cut.at("a"), Letters(kAuditValueBytes));
  EXPECT_EQ(cut.at("holdfast.cut.a"), "5");
  EXPECT_EQ(cut.at("b"), "short");
}

// Characters of two, three and four bytes, at each place where the limit may divide them.
TEST(AuditFacts, NoCharacterIsDivided) {
  for (const std::string character : {"\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (size_t before = 0; before <= character.size(); ++before) {
      const std::string begin = Letters(kAuditValueBytes - before);
      const std::string value = begin + character + "and more";
      const AuditFacts cut = CutLongFacts({{"a", value}});
      const bool fits = before == character.size();
      EXPECT_EQ(cut.at("a"), fits ? begin + character : begin) << before;
      EXPECT_EQ(cut.at("holdfast.cut.a"), std::to_string(value.size() - cut.at("a").size()));
    }
  }
}

TEST(AuditFacts, BytesThatAreNoTextAreCutAtTheLimit) {
  const std::string value(kAuditValueBytes + 3, '\x80');
  EXPECT_EQ(CutLongFacts({{"a", value}}).at("a").size(), kAuditValueBytes);
}

}  // namespace
}  // namespace holdfast::test
