#include "session/snapshot_description.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace holdfast::test {
namespace {

SnapshotDescription SampleDescription() {
  SnapshotDescription description{.snapshot = Revision(12),
                                  .turn = TurnNumber(4),
                                  .generation = Generation(2),
                                  .messages = MessageSeq(9),
                                  .digest = Sha256("history"),
                                  .journal = JournalNumber(31),
                                  .sm = std::nullopt};
  return description;
}

TEST(SnapshotDescription, IsJsonWithOneSpelling) {
  SnapshotDescription description = SampleDescription();
  description.digest = Digest{};
  description.sm = StateMachineRef{.ext_id = "plan\"ner", .slot_ref = "slot-1"};
  EXPECT_EQ(EncodeSnapshotDescription(description),
            R"({"snapshot":12,"turn":4,"generation":2,"messages":9,"digest":")" +
                std::string(64, '0') +
                R"(","journal":31,"state_machine":{"extension_id":"plan\"ner",)"
                R"("slot_ref":"slot-1"}})");
}

TEST(SnapshotDescription, IsReadAsWritten) {
  SnapshotDescription description = SampleDescription();
  EXPECT_EQ(DecodeSnapshotDescription(EncodeSnapshotDescription(description)), description);
  description.sm = StateMachineRef{.ext_id = "\xc3\xbc\\", .slot_ref = ""};
  EXPECT_EQ(DecodeSnapshotDescription(EncodeSnapshotDescription(description)), description);
}

TEST(SnapshotDescription, NothingElseIsTakenForOne) {
  const std::string whole = EncodeSnapshotDescription(SampleDescription());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(DecodeSnapshotDescription(whole.substr(0, length)), std::nullopt) << length;
  }
  // Without any one of its keys, and with a value of another type in its place.
  for (const char* key :
       {"snapshot", "turn", "generation", "messages", "digest", "journal", "state_machine"}) {
    std::string renamed = whole;
    renamed.replace(renamed.find(key), 1, "X");
    EXPECT_EQ(DecodeSnapshotDescription(renamed), std::nullopt) << key;
    std::string other = whole;
    const size_t value = other.find(':', other.find(key)) + 1;
    other.replace(value, other.find_first_of(",}", value) - value, "true");
    EXPECT_EQ(DecodeSnapshotDescription(other), std::nullopt) << key;
  }
  std::string negative = whole;
  negative.replace(negative.find(":12") + 1, 2, "-1");
  EXPECT_EQ(DecodeSnapshotDescription(negative), std::nullopt);
  std::string digest = whole;
  digest[digest.find("digest") + 9] = 'x';
  EXPECT_EQ(DecodeSnapshotDescription(digest), std::nullopt);
  EXPECT_EQ(DecodeSnapshotDescription("[]"), std::nullopt);
}

TEST(SnapshotDescription, TextThatIsNoUtf8IsWrittenAllTheSame) {
  SnapshotDescription description = SampleDescription();
  description.sm = StateMachineRef{.ext_id = "\xff", .slot_ref = "s"};
  const auto read = DecodeSnapshotDescription(EncodeSnapshotDescription(description));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->sm->ext_id, "\xef\xbf\xbd");
}

}  // namespace
}  // namespace holdfast::test
