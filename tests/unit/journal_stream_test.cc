// What a journal stream does next: it reads on while a worker has what came before.
#include "server/rpc/write/journal_stream.h"

#include "session/limits.h"
#include "session/refusal.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

AppendJournalCommand OneEntry(uint64_t number, size_t bytes = 1) {
  AppendJournalCommand command{.session = *SessionId::Parse("alpha")};
  JournalEntry& entry = command.entries.emplace_back();
  entry.turn = TurnNumber(1);
  entry.number = EntryNumber(number);
  entry.data = std::string(bytes, 'x');
  return command;
}

// A stream whose first request is being parsed.
JournalStream Parsing() {
  JournalStream stream;
  EXPECT_TRUE(stream.Next().read);
  EXPECT_TRUE(stream.Arrived(1));
  EXPECT_TRUE(stream.Next().parse);
  return stream;
}

TEST(JournalStreamSteps, ReadWhileARequestIsParsed) {
  JournalStream stream;
  EXPECT_TRUE(stream.Next().read);
  EXPECT_TRUE(stream.Arrived(1));
  const JournalStream::Steps steps = stream.Next();
  EXPECT_TRUE(steps.parse);
  EXPECT_TRUE(steps.read);
}

TEST(JournalStreamSteps, ParseOnceForAllThatCameMeanwhile) {
  JournalStream stream = Parsing();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(stream.Arrived(1));
    const JournalStream::Steps steps = stream.Next();
    EXPECT_FALSE(steps.parse);
    EXPECT_TRUE(steps.read);
  }
  stream.TookRequest(1, OneEntry(1));
  stream.Parsed();
  const JournalStream::Steps steps = stream.Next();
  EXPECT_TRUE(steps.append);
  EXPECT_TRUE(steps.parse);
}

TEST(JournalStreamSteps, ReadNoFurtherThanTheirBoundsAllow) {
  JournalStream bytes = Parsing();
  EXPECT_TRUE(bytes.Arrived(kChunkBytes));
  EXPECT_FALSE(bytes.Next().read);
  JournalStream requests = Parsing();
  for (size_t i = 1; i + 1 < kEntriesPerChange; ++i) {
    EXPECT_TRUE(requests.Arrived(1));
    EXPECT_TRUE(requests.Next().read);
  }
  EXPECT_TRUE(requests.Arrived(1));
  EXPECT_FALSE(requests.Next().read);
}

TEST(JournalStreamSteps, EndWhenEverythingThatCameIsAppended) {
  JournalStream stream = Parsing();
  stream.TookEnd();
  EXPECT_FALSE(stream.Next().finish);
  stream.TookRequest(1, OneEntry(1));
  stream.Parsed();
  EXPECT_TRUE(stream.Next().append);
  stream.Appended(stream.TakeBatch(), MutationResult());
  EXPECT_TRUE(stream.Next().write);
  stream.TakeAcknowledgement();
  stream.Written(true);
  EXPECT_TRUE(stream.Next().finish);
  EXPECT_FALSE(stream.Arrived(1)) << "it has ended";
}

// What was not parsed any more counts no longer.
TEST(JournalStreamSteps, EndBehindABadRequestWhateverCameBehindIt) {
  JournalStream stream = Parsing();
  EXPECT_TRUE(stream.Arrived(1));
  stream.TookRequest(1, InvalidField("entries", "are bad"));
  stream.Parsed();
  EXPECT_TRUE(stream.Next().finish);
  EXPECT_TRUE(Is(stream.Outcome(), Reason::kInvalidField));
}

}  // namespace
}  // namespace holdfast::test
