// Random lives of sessions, over the database and over a model that keeps everything it was given:
// what is read at every kept revision is the same, also behind prunes and by a server that has not
// seen the session.
#include "session/kept.h"
#include "session/limits.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using Generator = std::mt19937_64;

constexpr uint64_t kSeed = 20'261'126;
constexpr int kStepsMost = 60;
constexpr int kSlotOwners = 5;
// So small that a page begins and ends within a change and within a row.
constexpr PageLimit kSmallPage{.items = 3, .bytes = 6000};

size_t Below(Generator& generator, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(generator);
}

// Mostly small; now and then a row or several.
std::string SomeText(Generator& generator) {
  const size_t most = Below(generator, 5) == 0 ? 9000 : 200;
  return std::string(Below(generator, most), static_cast<char>('a' + Below(generator, 26)));
}

std::vector<Message> SomeMessages(Generator& generator) {
  std::vector<Message> messages;
  for (size_t count = Below(generator, 4); count > 0; --count) {
    messages.push_back(Text(SomeText(generator)));
  }
  return messages;
}

std::string SomeOwner(Generator& generator) {
  return absl::StrCat("owner-", Below(generator, kSlotOwners));
}

// Calls `take` with each item of all pages that `read` answers.
template <typename Page, typename Item>
void ReadPages(absl::FunctionRef<absl::StatusOr<Page>()> read, std::vector<Item> Page::*items,
               absl::FunctionRef<void(const Item&)> take) {
  for (;;) {
    const absl::StatusOr<Page> page = read();
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Item& item : (*page).*items) take(item);
    if (page->end) return;
    ASSERT_FALSE(((*page).*items).empty()) << "a page that is not the last one is empty";
  }
}

// One session over one store. The same steps are taken by another with the same generators.
class Life {
 public:
  Life(SessionStore& store, const std::string& id, uint64_t seed)
      : store_(store), generator_(seed), random_(seed), changes_(Key(id), random_) {
    Apply(changes_.Create());
  }

  void Step() {
    switch (Below(generator_, 10)) {
      case 0:
        return Apply(changes_.Update({{"title", SomeText(generator_).substr(0, 50)}}));
      case 1:
        return turn_ ? Keep() : Write();
      case 2:
        return turn_ ? Abandon() : Write();
      case 3:
        return turn_ ? Append() : Replace();
      case 4:
        return turn_ ? Commit() : Close();
      case 5:
        return turn_ ? Commit() : Begin();
      default:
        return turn_ ? Append() : Begin();
    }
  }

  // What `store` has of it, as far as it promises to keep it.
  std::string Picture(SessionStore& store) const {
    const auto loaded = store.LoadForDecision(changes_.key(), std::nullopt);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (!loaded.ok()) return "";
    const Head& head = loaded->head;
    std::string picture = absl::StrCat("revision ", head.revision.value(), " version of ",
                                       head.snapshots.size(), " snapshots\n");
    for (const SnapshotRecord& snapshot : head.snapshots) {
      DrawAt(store, snapshot.at.revision, picture);
    }
    DrawAt(store, std::nullopt, picture);
    DrawLogs(store, head, picture);
    return picture;
  }

 private:
  void Apply(const Change& change) {
    const auto result = store_.Commit(change);
    ASSERT_EQ(ReasonOf(result), "OK");
    ASSERT_EQ(result->kind, CommitResult::Kind::kApplied);
    if (!result->receipt.token.empty()) token_ = *LeaseToken::Parse(result->receipt.token);
  }
  void Begin() {
    Apply(changes_.Begin(token_));
    turn_ = TurnNumber(++turns_);
    entries_ = 0;
  }
  void Append() {
    std::vector<JournalEntry> entries;
    for (size_t count = 1 + Below(generator_, 3); count > 0; --count) {
      const std::string text = SomeText(generator_);
      entries.push_back(
          Below(generator_, 2) == 0
              ? Note(*turn_, ++entries_, text)
              : SlotUpdate(*turn_, ++entries_, MakeSlot(SomeOwner(generator_), text)));
    }
    Apply(changes_.Append(token_, *turn_, std::move(entries)));
  }
  void Fill(Change& change) {
    change.messages = SomeMessages(generator_);
    if (Below(generator_, 2) == 0) {
      change.slots = {MakeSlot(SomeOwner(generator_), SomeText(generator_))};
    } else if (Below(generator_, 4) == 0) {
      change.deleted_slots = {SomeOwner(generator_)};
    }
  }
  void Keep() {
    Change change = changes_.KeepTurn(token_, *turn_);
    Fill(change);
    Apply(change);
  }
  void Commit() {
    Change change = changes_.CommitTurn(token_, *turn_);
    Fill(change);
    Apply(change);
    turn_.reset();
  }
  void Abandon() {
    Apply(changes_.Abandon(token_, *turn_));
    turn_.reset();
  }
  void Write() {
    Change change = changes_.Write(token_);
    Fill(change);
    Apply(change);
  }
  void Replace() {
    Change change = changes_.Write(token_);
    Fill(change);
    change.replaces_history = true;
    Apply(change);
  }
  void Close() {
    Apply(changes_.Close(token_));
    Apply(changes_.Resume());
  }

  void DrawAt(SessionStore& store, std::optional<Revision> revision, std::string& picture) const {
    absl::StrAppend(&picture, "at ", revision ? revision->value() : 0, "\n");
    MessageSeq after;
    ReadPages<MessagePage, Message>(
        [&] { return store.ReadMessages(changes_.key(), revision, after, kSmallPage); },
        &MessagePage::messages,
        [&](const Message& message) {
          absl::StrAppend(&picture, message.seq.value(), " ", message.data.str(), "\n");
          after = message.seq;
        });
    const auto slots = store.ReadSlots(changes_.key(), {.revision = revision});
    ASSERT_TRUE(slots.ok()) << slots.status();
    for (const SlotView& view : slots->slots) {
      absl::StrAppend(&picture, view.slot.owner, " ", view.slot.revision.value(), " ",
                      view.slot.data.str(), "\n");
    }
  }
  void DrawLogs(SessionStore& store, const Head& head, std::string& picture) const {
    JournalNumber entry = JournalFloor(head);
    ReadPages<JournalPage, JournalEntry>(
        [&] { return store.ReadJournal(changes_.key(), {.after = entry}, kSmallPage); },
        &JournalPage::entries,
        [&](const JournalEntry& each) {
          absl::StrAppend(&picture, each.journal_number.value(), " ", each.data.str(),
                          each.slot ? each.slot->data.str() : "", "\n");
          entry = each.journal_number;
        });
    EventSeq event;
    ReadPages<EventPage, Event>([&] { return store.ReadEvents(changes_.key(), event, kSmallPage); },
                                &EventPage::events,
                                [&](const Event& each) {
                                  absl::StrAppend(&picture, each.seq.value(), " ", each.name, " ",
                                                  each.revision.value(), "\n");
                                  event = each.seq;
                                });
    AuditSeq record;
    ReadPages<AuditPage, AuditRecord>(
        [&] { return store.ReadAudit(changes_.key(), record, kSmallPage); }, &AuditPage::records,
        [&](const AuditRecord& each) {
          absl::StrAppend(&picture, each.seq.value(), " ", each.code, "\n");
          record = each.seq;
        });
  }

  SessionStore& store_;
  Generator generator_;
  SeededRandom random_;
  Changes changes_;
  LeaseToken token_;
  uint64_t turns_ = 0;
  std::optional<TurnNumber> turn_;
  uint64_t entries_ = 0;
};

class PgLives : public PostgresStoreTest {
 protected:
  void Live(int lives) {
    auto disk = std::make_shared<ReferenceDisk>(NewReferenceDisk(random()));
    ReferenceStore model(disk, clock());
    ASSERT_TRUE(model.Init().ok() && model.Activate().ok());
    Generator lengths(kSeed);
    for (int i = 0; i < lives && !HasFailure(); ++i) {
      SCOPED_TRACE(absl::StrCat("life ", i));
      const std::string id = absl::StrCat("life-", i);
      Life stored(store(), id, kSeed + i);
      Life kept(model, id, kSeed + i);
      for (size_t steps = Below(lengths, kStepsMost); steps > 0 && !HasFailure(); --steps) {
        stored.Step();
        kept.Step();
      }
      const std::string picture = kept.Picture(model);
      ASSERT_EQ(stored.Picture(store()), picture);
      if (i % 50 != 0) continue;
      EXPECT_TRUE(store().ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).ok());
      const auto other = AnotherServer();
      EXPECT_EQ(stored.Picture(*other), picture);
      Close(other);
    }
    ASSERT_TRUE(model.Deactivate().ok());
    std::cout << "figure: " << lives << " lives, "
              << database().AskText("SELECT count(*)::text FROM holdfast.log")
              << " rows of the log\n";
  }
};
using LongPgLives = PgLives;

TEST_F(PgLives, ReadAsWhatTheyWere) { Live(150); }
TEST_F(LongPgLives, ReadAsWhatTheyWere) { Live(1000); }

}  // namespace
}  // namespace holdfast::test
