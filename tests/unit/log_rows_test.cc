// Changes as rows of the log, and back: whatever a change holds and however long its keys are, each
// row fits, and what is read from any row on is what was written.
#include "store-postgres/log_rows.h"

#include "session/codec/records.h"
#include "session/limits.h"
#include "tests/support/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr uint64_t kMessagesBefore = 17;  // messages of the history before the change

using Generator = std::mt19937_64;

size_t Below(Generator& generator, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(generator);
}

// Mostly small, sometimes of many rows, often just at the end of one.
size_t SomeSize(Generator& generator) {
  switch (Below(generator, 4)) {
    case 0:
      return Below(generator, 40);
    case 1:
      return 2300 + Below(generator, 400);
    case 2:
      return Below(generator, 1500);
    default:
      return Below(generator, 12'000);
  }
}

SessionKey SessionKeyOf(size_t tenant, size_t session) {
  return {.tenant = *TenantId::Parse(std::string(tenant, 't')),
          .session = *SessionId::Parse(std::string(session, 's'))};
}

Applied WithMessages(const std::vector<std::string>& texts) {
  Applied applied;
  for (const std::string& text : texts) {
    Message& message = applied.messages.emplace_back();
    message.seq = MessageSeq(kMessagesBefore + applied.messages.size());
    message.data = text;
  }
  applied.head.messages = MessageSeq(kMessagesBefore + texts.size());
  return applied;
}

// A row as it is stored.
struct Row {
  uint64_t messages = 0;
  std::string acts;
  std::string msgs;
};

std::vector<Row> RowsOf(const SessionKey& key, const Applied& applied) {
  const pg::LogRows written(key, applied);
  std::vector<Row> rows;
  for (const pg::LogRow& row : written.rows()) {
    rows.push_back({.messages = row.messages, .acts = row.acts, .msgs = Joined(row.msgs)});
    EXPECT_EQ(rows.back().msgs.size(), row.msgs_bytes);
  }
  return rows;
}

// Of a row of one change.
pg::LogPlace At(size_t part) { return {.n = 7, .part = static_cast<int32_t>(part)}; }

// What is read of the messages from number `first` on, beginning at the row that find_row names.
std::vector<std::string> ReadFrom(const std::vector<Row>& rows, uint64_t first) {
  size_t begin = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].messages < first) begin = i;
  }
  pg::MessageReader reader;
  std::vector<std::string> texts;
  for (size_t i = begin; i < rows.size(); ++i) {
    if (rows[i].msgs.empty()) continue;
    EXPECT_TRUE(reader.Take(At(i), rows[i].messages, rows[i].msgs)) << "row " << i;
    while (const auto item = reader.Next()) {
      if (item->number < first) continue;
      const std::optional<Message> message = DecodeMessage(item->record);
      EXPECT_TRUE(message && message->seq.value() == item->number);
      if (message) texts.push_back(message->data.str());
    }
  }
  return texts;
}

size_t Room(const SessionKey& key) {
  return pg::kLogRowBytes - key.tenant.value().size() - key.session.value().size();
}

TEST(LogRows, OfRandomChangesAreReadFromEachNumberOn) {
  Generator generator(20'261'126);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> texts;
    for (size_t count = 1 + Below(generator, 8); count > 0; --count) {
      texts.emplace_back(SomeSize(generator), static_cast<char>('a' + count));
    }
    const SessionKey key =
        SessionKeyOf(1 + Below(generator, kTenantIdBytes), 1 + Below(generator, kSessionIdBytes));
    Applied applied = WithMessages(texts);
    for (size_t count = Below(generator, 3); count > 0; --count) {
      Event& event = applied.events.emplace_back();
      event.name = "Written";
      event.payload["text"] = std::string(SomeSize(generator), 'e');
    }
    const std::vector<Row> rows = RowsOf(key, applied);
    for (const Row& row : rows) {
      EXPECT_LE(row.acts.size() + row.msgs.size(), Room(key));
    }
    for (size_t skipped = 0; skipped < texts.size(); ++skipped) {
      const std::vector<std::string> rest(texts.begin() + static_cast<ptrdiff_t>(skipped),
                                          texts.end());
      ASSERT_EQ(ReadFrom(rows, kMessagesBefore + 1 + skipped), rest) << "round " << round;
    }
    pg::ActsReader reader;
    for (size_t i = 0; i < rows.size() && !rows[i].acts.empty(); ++i) {
      EXPECT_TRUE(reader.Take(At(i), rows[i].acts));
    }
    EXPECT_EQ(reader.IsWhole(), !applied.events.empty());
    const auto acts = pg::ReadActs(reader.pieces());
    ASSERT_EQ(acts.has_value(), !applied.events.empty());
    EXPECT_EQ(acts ? acts->events.size() : 0, applied.events.size());
  }
}

// As docs/formats.md says: no more rows than the bytes need.
TEST(LogRows, AreAsFewAsTheBytesNeed) {
  const SessionKey key = SessionKeyOf(7, 36);
  const auto rows_of = [&](const std::vector<std::string>& texts) {
    size_t bytes = 0;
    const std::vector<Row> rows = RowsOf(key, WithMessages(texts));
    for (const Row& row : rows) bytes += row.msgs.size();
    EXPECT_LE(rows.size(), bytes / (Room(key) - 64) + 1);
    return rows.size();
  };
  EXPECT_EQ(rows_of({std::string(1024, 'x'), std::string(1024, 'x')}), 1U);
  EXPECT_EQ(rows_of(std::vector<std::string>(100, "small")), 1U);
  EXPECT_EQ(rows_of({std::string(8192, 'x')}), 4U);
  rows_of(std::vector<std::string>(1000, std::string(100, 'x')));
  rows_of({std::string(1 << 20, 'x')});
}

TEST(LogRows, AChangeThatSaysNothingHasNone) {
  EXPECT_TRUE(RowsOf(SessionKeyOf(7, 36), Applied()).empty());
}

// What a row is taken behind must be the one before it.
TEST(LogRows, RowsThatDoNotFollowEachOtherAreNotRead) {
  const std::vector<Row> rows =
      RowsOf(SessionKeyOf(7, 36), WithMessages({std::string(9000, 'x'), "last"}));
  ASSERT_GT(rows.size(), 3U);
  const auto take = [&](pg::MessageReader& reader, size_t row) {
    return reader.Take(At(row), rows[row].messages, rows[row].msgs);
  };
  pg::MessageReader gap;
  EXPECT_TRUE(take(gap, 0));
  EXPECT_FALSE(take(gap, 2));
  pg::MessageReader twice;
  EXPECT_TRUE(take(twice, rows.size() - 1));
  while (twice.Next()) {
  }
  EXPECT_FALSE(take(twice, rows.size() - 1));
  EXPECT_FALSE(pg::MessageReader().Take(At(0), 0, "")) << "no row is empty";
  EXPECT_FALSE(pg::MessageReader().Take(At(0), 0, "\x05xyz")) << "more has begun than there is";
}

TEST(LogRows, PiecesThatDoNotFollowEachOtherAreNotRead) {
  Applied applied;
  applied.events.emplace_back().payload["text"] = std::string(9000, 'e');
  const std::vector<Row> rows = RowsOf(SessionKeyOf(7, 36), applied);
  ASSERT_GT(rows.size(), 3U);
  pg::ActsReader gap;
  EXPECT_TRUE(gap.Take(At(0), rows[0].acts));
  EXPECT_FALSE(gap.Take(At(2), rows[2].acts));
  EXPECT_FALSE(pg::ActsReader().Take(At(1), rows[1].acts)) << "its beginning is missing";
  EXPECT_FALSE(pg::ActsReader().Take(At(0), ""));
}

TEST(LogRows, WhatAChangeSaidIsReadWhole) {
  Applied applied;
  applied.audit = AuditRecord{};
  applied.audit->seq = AuditSeq(3);
  applied.audit->code = "begin";
  applied.receipt.token = "hf1.secret";
  applied.request = RequestStamp{};
  applied.request->id = *RequestId::Parse("11111111-1111-4111-8111-111111111111");
  const std::vector<Row> rows = RowsOf(SessionKeyOf(7, 36), applied);
  ASSERT_EQ(rows.size(), 1U);
  const auto acts = pg::ReadActs(rows[0].acts);
  ASSERT_TRUE(acts && acts->audit && acts->request);
  EXPECT_TRUE(acts->granted);
  EXPECT_EQ(acts->request->receipt.token, "") << "the token belongs in the session's row alone";
  EXPECT_EQ(acts->audit->code, "begin");
  EXPECT_EQ(rows[0].acts.find("hf1.secret"), std::string::npos);
  for (size_t size = 0; size < rows[0].acts.size(); ++size) {
    EXPECT_FALSE(pg::ReadActs(rows[0].acts.substr(0, size)).has_value());
  }
}

}  // namespace
}  // namespace holdfast::test
