#include "tests/support/pinned_history.h"

#include "session/checkpoint.h"
#include "session/history_spans.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/support/checkpoint_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::test {
namespace {

constexpr uint64_t kPinnedOwners = 6;
constexpr PageLimit kSomeMessages{.items = 5, .bytes = 100'000};

// One of the elements of a container that has some.
template <typename Container>
auto Pick(const Container& from, uint64_t which) {
  return *std::next(from.begin(), static_cast<ptrdiff_t>(which));
}

}  // namespace

Receipt PinnedHistory::Apply(SessionStore& store, const Change& change) {
  const absl::StatusOr<CommitResult> result = store.Commit(change);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return Receipt();
  EXPECT_EQ(result->kind, CommitResult::Kind::kApplied) << result->refusal;
  return result->receipt;
}

Head PinnedHistory::Loaded(SessionStore& store) {
  const auto loaded = store.LoadForDecision(changes_.key(), std::nullopt);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? loaded->head : Head();
}

void PinnedHistory::Begin(SessionStore& store) { Remember(Loaded(store).revision); }

void PinnedHistory::Step(SessionStore& store) {
  const uint64_t step = Below(100);
  if (step < 60) return Write(store);
  if (step < 75) return Restore(store);
  if (step < 90) return Pin(store);
  Unpin(store);
}

std::vector<Message> PinnedHistory::AnyMessages() {
  std::vector<Message> messages;
  for (uint64_t left = Below(3); left > 0; --left) {
    const std::string text = "message " + std::to_string(++words_) + std::string(Below(200), '.');
    now_.messages.push_back(text);
    messages.push_back(Text(text));
    now_.digest = ExtendHistory(now_.digest, messages.back());
  }
  return messages;
}

void PinnedHistory::Write(SessionStore& store) {
  Change write = changes_.Write(token_);
  write.replaces_history = Below(6) == 0;
  if (write.replaces_history) {
    now_.messages.clear();
    now_.digest = Digest{};
  }
  write.messages = AnyMessages();
  std::set<std::string> owners;
  for (uint64_t left = Below(4); left > 0; --left) {
    const std::string owner = "owner " + std::to_string(Below(kPinnedOwners));
    if (!owners.insert(owner).second) continue;
    if (Below(3) == 0) {
      write.deleted_slots.push_back(owner);
      now_.slots.erase(owner);
    } else {
      const std::string data = "slot " + std::to_string(++words_) + std::string(Below(100), '.');
      write.slots.push_back(MakeSlot(owner, data));
      now_.slots[owner] = data;
    }
  }
  MayPinPrevious(store, write);
  Remember(Apply(store, write).revision);
}

// The history of any snapshot that can be read, cut anywhere.
void PinnedHistory::Restore(SessionStore& store) {
  const Head head = Loaded(store);
  std::vector<PinnedSnapshot> sources;
  for (const SnapshotRecord& record : head.snapshots) sources.push_back(PinnedOf(head, record));
  ItemQuery query{.collection = kCheckpointCollection, .data = true};
  const auto page = store.ReadItems(changes_.key(), query, {.items = 1000, .bytes = 1'000'000});
  ASSERT_TRUE(page.ok()) << page.status();
  for (const ItemView& view : page->items) {
    if (const auto checkpoint = DecodeCheckpoint(view.item)) {
      sources.push_back(checkpoint->snapshot);
    }
  }
  const PinnedSnapshot source = Pick(sources, Below(sources.size()));
  const Revision revision = source.record.at.revision;
  const Head with = WithPinned(head, {&source, 1});
  const Picture& picture = pictures_.at(revision);
  const uint64_t kept = Below(picture.messages.size() + 1);
  const std::vector<HistorySpan> spans = SpansOf(with, source.record.generation, MessageSeq(kept));
  // The domain stores the messages of the last spans again where there are too many.
  if (spans.size() >= kHistorySpans) return Write(store);
  if (revision < OldestKept(head).revision) ++restored_;
  now_.messages.assign(picture.messages.begin(),
                       picture.messages.begin() + static_cast<ptrdiff_t>(kept));
  now_.digest = Digest{};
  for (const std::string& text : now_.messages) {
    now_.digest = ExtendHistory(now_.digest, Text(text));
  }
  Change restore = changes_.Write(token_);
  restore.restores = HistoryCut{.generation = source.record.generation,
                                .messages = MessageSeq(kept),
                                .digest = now_.digest,
                                .spans = spans};
  restore.messages = AnyMessages();
  MayPinPrevious(store, restore);
  Remember(Apply(store, restore).revision);
}

void PinnedHistory::Pin(SessionStore& store) {
  const Head head = Loaded(store);
  const Revision revision = Pick(head.snapshots, Below(head.snapshots.size())).at.revision;
  if (!pinned_[revision].insert(CheckpointKind::kManual).second) return;
  Apply(store, OfCheckpoints(changes_, head, {{.checkpoint = CheckpointAt(head, revision)}}));
}

void PinnedHistory::MayPinPrevious(SessionStore& store, Change& change) {
  if (Below(2) == 0) return;
  const auto kind = static_cast<CheckpointKind>(2 + Below(kCheckpointKinds - 1));
  const Revision last = Loaded(store).snapshots.back().at.revision;
  change.pins_previous = kind;
  if (!pinned_[last].insert(kind).second) return;
  std::deque<Revision>& own = own_[kind];
  own.push_back(last);
  if (own.size() <= kOwnCheckpointsKept) return;
  const auto oldest = pinned_.find(own.front());
  own.pop_front();
  oldest->second.erase(kind);
  if (oldest->second.empty()) pinned_.erase(oldest);
}

void PinnedHistory::Unpin(SessionStore& store) {
  if (pinned_.empty()) return;
  const auto which = std::next(pinned_.begin(), static_cast<ptrdiff_t>(Below(pinned_.size())));
  std::vector<ItemName> items;
  for (const CheckpointKind kind : which->second) {
    items.push_back(CheckpointItemName(kind, which->first));
    std::erase(own_[kind], which->first);
  }
  pinned_.erase(which);
  Apply(store, OfCheckpoints(changes_, Loaded(store), {}, std::move(items)));
}

void PinnedHistory::ReadAt(SessionStore& store, Revision revision) {
  SCOPED_TRACE("revision " + std::to_string(revision.value()));
  Picture seen;
  MessageSeq after;
  for (bool end = false; !end;) {
    const auto page = store.ReadMessages(changes_.key(), revision, after, kSomeMessages);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Message& message : page->messages) {
      seen.messages.push_back(message.data.str());
      seen.digest = ExtendHistory(seen.digest, message);
      after = message.seq;
    }
    end = page->end;
    ASSERT_TRUE(end || !page->messages.empty());
  }
  const auto slots = store.ReadSlots(changes_.key(), {.revision = revision});
  ASSERT_TRUE(slots.ok()) << slots.status();
  for (const SlotView& view : slots->slots) {
    EXPECT_FALSE(view.damaged) << view.slot.owner;
    if (view.slot.owner != kStoreSlotOwner) seen.slots[view.slot.owner] = view.slot.data.str();
  }
  const Picture& expected = pictures_.at(revision);
  EXPECT_EQ(seen.messages, expected.messages);
  EXPECT_EQ(seen.slots, expected.slots);
  EXPECT_EQ(seen.digest, expected.digest);
}

void PinnedHistory::Check(SessionStore& store) {
  const Head head = Loaded(store);
  std::set<Revision> readable;
  for (const SnapshotRecord& record : head.snapshots) readable.insert(record.at.revision);
  for (const auto& [revision, kinds] : pinned_) readable.insert(revision);
  for (const Revision revision : readable) ReadAt(store, revision);
  EXPECT_EQ(head.history, now_.digest);
  for (int looked = 0; looked < 5; ++looked) {
    const Revision revision = Pick(pictures_, Below(pictures_.size())).first;
    if (readable.contains(revision)) continue;
    const auto page = store.ReadMessages(changes_.key(), revision, MessageSeq(), kSomeMessages);
    EXPECT_TRUE(Is(page.status(), Reason::kRevisionPruned)) << revision.value();
    const auto slots = store.ReadSlots(changes_.key(), {.revision = revision});
    EXPECT_TRUE(Is(slots.status(), Reason::kRevisionPruned)) << revision.value();
  }
}

}  // namespace holdfast::test
