#include "tests/unit/sessions_world.h"

#include "session/refusal.h"
#include "tests/support/reference_store.h"

#include <gtest/gtest.h>

#include <utility>

namespace holdfast::test {
namespace {

constexpr PageLimit kAll{.items = 1000, .bytes = size_t{1} << 30};

}  // namespace

std::string ReasonIn(const absl::Status& status) {
  return status.ok() ? "OK" : std::string(RowOf(RefusalOf(status).reason()).name);
}

std::string FactIn(const absl::Status& status, const std::string& name) {
  if (status.ok()) return "";
  const Refusal refusal = RefusalOf(status);
  const auto found = refusal.facts().find(name);
  return found == refusal.facts().end() ? "" : found->second;
}

Message Said(const std::string& data) {
  return {.role = "user", .content_type = "text/plain", .data = data};
}

Slot SlotOf(const std::string& owner, const std::string& data, const std::string& version) {
  return {.owner = owner, .version = version, .data = data};
}

World::World()
    : disk_(std::make_shared<ReferenceDisk>(NewReferenceDisk(random_))),
      store_(std::make_shared<FaultyStore>(std::make_unique<ReferenceStore>(disk_, clock_))),
      view_(store_),
      other_view_(store_),
      sessions_(std::make_unique<Sessions>(view_, random_)),
      other_(std::make_unique<Sessions>(other_view_, random_)),
      caller_{.tenant = *TenantId::Parse("default"),
              .trace = {.id = "0123456789abcdef0123456789abcdef", .sampled = true},
              .span_id = "0123456789abcdef"},
      id_(*SessionId::Parse("alpha")) {
  EXPECT_TRUE(store_->Init().ok());
  EXPECT_TRUE(store_->Activate().ok());
}

RequestId World::NewRequest() { return *RequestId::Parse(UuidText(random_.Bytes(16), 4)); }

CreateCommand World::ToCreate() {
  return {.request = NewRequest(),
          .session = id_,
          .project_root = "/p",
          .holder = "ada",
          .lease_ttl = absl::Seconds(60)};
}

UpdateCommand World::ToUpdate(const std::string& title) {
  return {.request = NewRequest(), .session = id_, .attributes = {{"title", title}}};
}

ResumeCommand World::ToResume() {
  return {.request = NewRequest(), .session = id_, .holder = "bob", .lease_ttl = absl::Seconds(60)};
}

ResumeCommand World::ToForce() {
  ResumeCommand command = ToResume();
  command.force_reason = "the test says so";
  return command;
}

BeginTurnCommand World::ToBegin() {
  return {.request = NewRequest(), .session = id_, .token = token_};
}

CommitTurnCommand World::ToCommit(TurnNumber turn) {
  return {.request = NewRequest(), .session = id_, .token = token_, .turn = turn};
}

AbandonTurnCommand World::ToAbandon(TurnNumber turn) {
  return {.request = NewRequest(), .session = id_, .token = token_, .turn = turn};
}

AppendJournalCommand World::ToAppend(TurnNumber turn, uint64_t first, uint64_t last) {
  AppendJournalCommand command{.session = id_, .token = token_};
  for (uint64_t number = first; number <= last; ++number) {
    command.entries.push_back({.turn = turn,
                               .number = EntryNumber(number),
                               .kind = JournalKind::kNote,
                               .data = std::to_string(number)});
  }
  return command;
}

CloseCommand World::ToClose() { return {.request = NewRequest(), .session = id_, .token = token_}; }
CancelCommand World::ToCancel(CancelScope scope, TurnNumber turn) {
  return {.request = NewRequest(),
          .session = id_,
          .scope = scope,
          .reason = CancelReason::kUser,
          .turn = turn,
          .name = {}};
}

DeleteCommand World::ToDelete() {
  return {.request = NewRequest(), .session = id_, .token = token_};
}
ReleaseCommand World::ToRelease() {
  return {.request = NewRequest(), .session = id_, .token = token_};
}

MutationResult World::Create() {
  auto result = sessions_->Create(caller_, ToCreate());
  EXPECT_EQ(ReasonIn(result), "OK");
  if (!result.ok()) return {};
  token_ = LeaseToken::Parse(result->receipt.token).value_or(LeaseToken());
  return *std::move(result);
}

ResumeResult World::TakeOver() {
  auto resumed = sessions_->Resume(caller_, ToForce());
  EXPECT_EQ(ReasonIn(resumed), "OK");
  if (!resumed.ok()) return {};
  token_ = LeaseToken::Parse(resumed->token).value_or(LeaseToken());
  return *std::move(resumed);
}

TurnNumber World::Begin() {
  const auto begun = sessions_->BeginTurn(caller_, ToBegin());
  EXPECT_EQ(ReasonIn(begun), "OK");
  return begun.ok() ? begun->result.receipt.turn : TurnNumber();
}

MutationResult World::Commit(TurnNumber turn, std::vector<Message> messages) {
  CommitTurnCommand command = ToCommit(turn);
  command.messages = std::move(messages);
  auto result = sessions_->CommitTurn(caller_, command);
  EXPECT_EQ(ReasonIn(result), "OK");
  return result.ok() ? *std::move(result) : MutationResult();
}

MutationResult World::Append(TurnNumber turn, std::vector<JournalEntry> entries) {
  AppendJournalCommand command = ToAppend(turn, 1, 0);
  command.entries = std::move(entries);
  auto result = sessions_->AppendJournal(caller_, command);
  EXPECT_EQ(ReasonIn(result), "OK");
  return result.ok() ? *std::move(result) : MutationResult();
}

Head World::Stored() {
  const auto loaded = store_->LoadForDecision(key(), std::nullopt);
  EXPECT_EQ(ReasonIn(loaded), "OK");
  return loaded.ok() ? loaded->head : Head();
}

std::vector<std::string> World::Texts() {
  std::vector<std::string> texts;
  const auto page = store_->ReadMessages(key(), std::nullopt, MessageSeq(), kAll);
  EXPECT_EQ(ReasonIn(page), "OK");
  if (!page.ok()) return texts;
  for (const Message& message : page->messages) texts.push_back(message.data.str());
  return texts;
}

std::vector<std::string> World::EventNames() {
  std::vector<std::string> names;
  const auto page = store_->ReadEvents(key(), EventSeq(), kAll);
  EXPECT_EQ(ReasonIn(page), "OK");
  if (!page.ok()) return names;
  for (const Event& event : page->events) names.push_back(event.name);
  return names;
}

std::vector<std::string> World::AuditCodes() {
  std::vector<std::string> codes;
  const auto page = store_->ReadAudit(key(), AuditSeq(), kAll);
  EXPECT_EQ(ReasonIn(page), "OK");
  if (!page.ok()) return codes;
  for (const AuditRecord& record : page->records) codes.push_back(record.code);
  return codes;
}

}  // namespace holdfast::test
