// The walk over an audit chain, and records of acts outside of the store.
#include "session/audit.h"
#include "session/codec/records.h"
#include "session/refusal.h"
#include "tests/unit/sessions_world.h"

#include "absl/strings/escaping.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kRecords = 5;

std::vector<AuditRecord> Chain() {
  std::vector<AuditRecord> records;
  Digest previous{};
  for (size_t at = 1; at <= kRecords; ++at) {
    AuditRecord record{.seq = AuditSeq(at), .audit_class = "Approval", .code = "granted"};
    record.previous = previous;
    record.hash = AuditHash(record);
    previous = record.hash;
    records.push_back(record);
  }
  return records;
}

// The number of the first bad record; 0 when all are sound.
uint64_t FirstBad(const std::vector<AuditRecord>& records) {
  AuditChain chain;
  for (const AuditRecord& record : records) {
    if (!chain.Take(record)) break;
  }
  chain.ExpectEnd(Chain().back().hash);
  return chain.why().empty() ? 0 : chain.records().value() + 1;
}

TEST(AuditChain, NamesTheFirstBadRecord) {
  EXPECT_EQ(FirstBad(Chain()), 0U);
  for (size_t at = 0; at < kRecords; ++at) {
    auto changed = Chain();
    changed[at].code = "denied";
    EXPECT_EQ(FirstBad(changed), at + 1);
    // Its own hash made to fit: then the next one does not follow it, or the head names another.
    changed[at].hash = AuditHash(changed[at]);
    EXPECT_EQ(FirstBad(changed), at + 1 == kRecords ? kRecords : at + 2);
    auto removed = Chain();
    removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_EQ(FirstBad(removed), at + 1 == kRecords ? at : at + 1);
  }
}

AuditRecord SampleRecord(AuditVersion version) {
  return {.version = version,
          .seq = AuditSeq(7),
          .audit_class = "Approval",
          .code = "granted",
          .correlation_id = "turn-1",
          .trace_id = version == AuditVersion::kWithTrace ? "0af7651916cd43dd8448eb211c80319c" : "",
          .revision = Revision(3),
          .epoch = Epoch(2),
          .time = absl::FromUnixSeconds(1),
          .data = {{"by", "ada"}, {"tool", "rm"}},
          .previous = {},
          .hash = {}};
}

// Computed apart from this code, from docs/formats.md.
TEST(AuditChain, RecordsOfBothVersionsAreVerifiedForEver) {
  for (const auto& [version, hash] :
       {std::pair(AuditVersion::kWithoutTrace,
                  "e4ca02d26a8ce3aa906d29ba291131ecb516aae67f2f9095e95d6847ee079d7a"),
        std::pair(AuditVersion::kWithTrace,
                  "542e370f969bda1ba2506d947b6a94adb68bc8bcf1bf7cdae924c3b05ba7af50")}) {
    AuditRecord record = SampleRecord(version);
    record.hash = AuditHash(record);
    EXPECT_EQ(absl::BytesToHexString(std::string(View(record.hash))), hash);
    EXPECT_EQ(DecodeAudit(EncodeAudit(record)), record);
  }
}

TEST(AuditChain, TheHashCoversTheTrace) {
  AuditRecord record = SampleRecord(AuditVersion::kWithTrace);
  const Digest before = AuditHash(record);
  record.trace_id.back() = '0';
  EXPECT_NE(AuditHash(record), before);
}

AppendAuditCommand ToAppend(World& world) {
  return {.request = world.NewRequest(),
          .session = world.id(),
          .audit_class = "Approval",
          .code = "granted",
          .correlation_id = "turn-1",
          .data = {{"tool", "rm"}, {"by", "ada"}}};
}

TEST(SessionsAudit, ARecordNeedsNoLeaseAndMovesNothing) {
  World world;
  world.Create();
  const Head before = world.Stored();
  const AppendAuditCommand command = ToAppend(world);
  const auto result = world.other().AppendAudit(world.caller(), command);
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->receipt.audit, AuditSeq(2));
  const Head after = world.Stored();
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_EQ(after.last_event, before.last_event);
  const auto page = world.store().ReadAudit(world.key(), AuditSeq(1), {.items = 9, .bytes = 1024});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->records.size(), 1U);
  EXPECT_EQ(page->records[0].audit_class, "Approval");
  EXPECT_EQ(page->records[0].correlation_id, "turn-1");
  EXPECT_EQ(page->records[0].data.at("tool"), "rm");
  const auto again = world.sessions().AppendAudit(world.caller(), command);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(again->receipt.audit, AuditSeq(2));
  AppendAuditCommand other = command;
  other.data["by"] = "eve";
  EXPECT_EQ(ReasonIn(world.sessions().AppendAudit(world.caller(), other)), "REQUEST_ID_REUSED");
  // A closed session accepts audit records, too.
  ASSERT_EQ(ReasonIn(world.sessions().Close(world.caller(), world.ToClose())), "OK");
  EXPECT_EQ(ReasonIn(world.sessions().AppendAudit(world.caller(), ToAppend(world))), "OK");
}

TEST(SessionsAudit, WhatARecordMustHave) {
  World world;
  world.Create();
  const auto refused = [&](const std::function<void(AppendAuditCommand&)>& invalidate) {
    AppendAuditCommand command = ToAppend(world);
    invalidate(command);
    const auto result = world.sessions().AppendAudit(world.caller(), command);
    return ReasonIn(result) + " " + FactIn(result.status(), "field");
  };
  EXPECT_EQ(refused([](auto& command) { command.audit_class = " "; }), "INVALID_FIELD audit_class");
  EXPECT_EQ(refused([](auto& command) { command.audit_class = "Turn"; }),
            "INVALID_FIELD audit_class");
  for (const char* name : {"turn", "SESSIONLIFECYCLE", "sessionLifecycle"}) {
    EXPECT_EQ(refused([&](auto& command) { command.audit_class = name; }),
              "INVALID_FIELD audit_class")
        << name;
  }
  // What looks like another name, or is only half seen.
  for (const char* name : {"Turn\u200b", "Tu\xd0\xb3n", "Approval ", "a:b", "a\nb"}) {
    EXPECT_EQ(refused([&](auto& command) { command.audit_class = name; }),
              "INVALID_FIELD audit_class")
        << name;
    EXPECT_EQ(refused([&](auto& command) { command.code = name; }), "INVALID_FIELD code") << name;
  }
  EXPECT_EQ(refused([](auto& command) { command.code = "granted/by.some-one_1"; }), "OK ");
  EXPECT_EQ(refused([](auto& command) { command.audit_class = std::string(65, 'x'); }),
            "TOO_LARGE audit_class");
  EXPECT_EQ(refused([](auto& command) { command.code = ""; }), "INVALID_FIELD code");
  EXPECT_EQ(refused([](auto& command) { command.correlation_id = ""; }),
            "INVALID_FIELD correlation_id");
  EXPECT_EQ(refused([](auto& command) { command.data["holdfast.cut.a"] = "1"; }),
            "INVALID_FIELD data");
  EXPECT_EQ(refused([](auto& command) {
              for (int i = 0; i < 4; ++i) {
                command.data[std::to_string(i)] = std::string(65536, 'x');
              }
            }),
            "TOO_LARGE data");
}

TEST(SessionsAudit, AnUpdateIsRecordedByItsKeys) {
  World world;
  world.Create();
  UpdateCommand update = world.ToUpdate("a title");
  update.attributes["agent"] = std::nullopt;
  ASSERT_EQ(ReasonIn(world.sessions().Update(world.caller(), update)), "OK");
  ASSERT_EQ(ReasonIn(world.sessions().Update(world.caller(), update)), "OK");  // a repeat
  const auto& records = world.disk().sessions.at(world.key()).audit;
  ASSERT_EQ(records.size(), 2U);
  const AuditRecord& record = records.back();
  EXPECT_EQ(record.audit_class, "SessionLifecycle");
  EXPECT_EQ(record.code, "update");
  EXPECT_EQ(record.correlation_id, update.request.value());
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(record.data, (Map{{"agent", "removed"}, {"title", "set"}}));
}

TEST(SessionsAudit, VerifyCountsWhatIsSoundAndNamesWhatIsNot) {
  World world;
  world.Create();
  world.RunTurn();
  const auto go_on = [] { return absl::OkStatus(); };
  auto verdict = world.other().VerifyAudit(world.caller(), {.id = world.id()}, go_on);
  ASSERT_EQ(ReasonIn(verdict), "OK");
  EXPECT_TRUE(verdict->sound());
  EXPECT_EQ(verdict->records, 3U);
  EXPECT_EQ(verdict->last, world.Stored().audit_chain);
  auto& records = world.disk().sessions.at(world.key()).audit;
  records.push_back(records.back());
  records.back().seq = AuditSeq(4);
  verdict = world.other().VerifyAudit(world.caller(), {.id = world.id()}, go_on);
  ASSERT_EQ(ReasonIn(verdict), "OK");
  EXPECT_EQ(verdict->records, 3U);
  EXPECT_FALSE(verdict->sound());
  records[1].code = "another";
  verdict = world.other().VerifyAudit(world.caller(), {.id = world.id()}, go_on);
  ASSERT_EQ(ReasonIn(verdict), "OK");
  EXPECT_EQ(verdict->records, 1U);
  EXPECT_EQ(ReasonIn(world.other().VerifyAudit(
                world.caller(), {.id = world.id()},
                [] { return Refusal(Reason::kDeadline, "too late").ToStatus(); })),
            "DEADLINE");
}

// The id has another session by then, whose chain is no continuation and no damage of the first.
TEST(SessionsAudit, VerifyEndsWhereAnotherSessionHasTheId) {
  World world;
  world.Create();
  world.RunTurn();
  const auto replace = [&world] {
    StoredSession& session = world.disk().sessions.at(world.key());
    session.head.uid = *SessionUid::Parse("11111111-2222-4333-8444-555555555555");
    session.audit.clear();
    return absl::OkStatus();
  };
  const auto verdict = world.other().VerifyAudit(world.caller(), {.id = world.id()}, replace);
  EXPECT_EQ(ReasonIn(verdict), "FENCED");
}

}  // namespace
}  // namespace holdfast::test
