#include "session/checkpoint_reads.h"

#include "platform/status_macros.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace holdfast {
namespace {

constexpr std::array kAllKinds = {CheckpointKind::kManual, CheckpointKind::kPreCompaction,
                                  CheckpointKind::kBeforeRestore, CheckpointKind::kInterrupted};
static_assert(kAllKinds.size() == kCheckpointKinds);

absl::StatusOr<Checkpoint> Decode(const ItemView& view) {
  std::optional<Checkpoint> checkpoint = view.damaged ? std::nullopt : DecodeCheckpoint(view.item);
  if (!checkpoint) return Damaged("checkpoint", 0);
  return *std::move(checkpoint);
}

absl::StatusOr<std::vector<Checkpoint>> DecodeAll(const std::vector<ItemView>& views) {
  std::vector<Checkpoint> checkpoints;
  checkpoints.reserve(views.size());
  for (const ItemView& view : views) {
    ASSIGN_OR_RETURN(checkpoints.emplace_back(), Decode(view));
  }
  return checkpoints;
}

size_t BytesOf(const Checkpoint& checkpoint) { return ItemBytes(EncodeCheckpoint(checkpoint)); }

// The items of these keys, of which a page has room for all.
absl::StatusOr<std::vector<ItemView>> ReadKeys(SessionStore& store, const SessionKey& key,
                                               std::vector<std::string> keys) {
  std::ranges::sort(keys);
  ItemQuery query{.collection = kCheckpointCollection, .keys = std::move(keys), .data = true};
  std::vector<ItemView> found;
  for (bool end = false; !end;) {
    ASSIGN_OR_RETURN(ItemPage page,
                     store.ReadItems(key, query, {.items = kPageMost, .bytes = kPageBytes}));
    std::ranges::move(page.items, std::back_inserter(found));
    end = page.end || !page.last;
    query.after = page.last;
  }
  return found;
}

// Reads one page of a listing.
class Listing {
 public:
  // All outlive it.
  Listing(SessionStore& store, const SessionKey& key, const CheckpointQuery& query)
      : store_(store), key_(key), query_(query) {}

  absl::StatusOr<CheckpointPage> Read() && {
    for (const CheckpointKind kind : kAllKinds) {
      const bool wanted =
          query_.kinds.empty() || std::ranges::find(query_.kinds, kind) != query_.kinds.end();
      if (wanted) {
        RETURN_IF_ERROR(ReadKind(kind));
      }
    }
    if (query_.include_window && query_.labels.empty()) {
      RETURN_IF_ERROR(ReadWindow());
    }
    std::ranges::sort(page_.checkpoints, [](const auto& one, const auto& other) {
      return other.place().IsBehind(one.place());
    });
    Cut();
    return std::move(page_);
  }

 private:
  [[nodiscard]] bool IsWanted(const CheckpointPlace& place) const {
    return !query_.after || place.IsBehind(*query_.after);
  }

  // Down to what a page may hold: the first one in any case.
  void Cut() {
    std::vector<ListedCheckpoint>& all = page_.checkpoints;
    size_t shown = 0;
    for (size_t bytes = 0; shown < all.size() && shown < query_.limit; ++shown) {
      bytes += BytesOf(all[shown].checkpoint);
      if (shown > 0 && bytes > kPageBytes) break;
    }
    page_.end = shown == all.size();
    all.resize(shown);
  }

  // One more than a page has room for, in number or in bytes, shows that there are more.
  absl::Status ReadKind(CheckpointKind kind) {
    ItemQuery items{.collection = kCheckpointCollection,
                    .range = CheckpointsOfKind(kind),
                    .descending = true,
                    .labels = query_.labels,
                    .data = true};
    if (query_.after) {
      const bool is_past = static_cast<uint8_t>(kind) <= query_.after->kind;
      const Revision behind = is_past ? query_.after->revision : query_.after->revision.Next();
      items.after = CheckpointItemName(kind, behind).key;
    }
    size_t bytes = 0;
    for (size_t left = size_t{query_.limit} + 1; left > 0 && bytes <= kPageBytes;) {
      ASSIGN_OR_RETURN(const ItemPage page, store_.ReadItems(key_, items,
                                                             {.items = static_cast<uint32_t>(left),
                                                              .bytes = kPageBytes}));
      page_.uid = page.uid;
      for (const ItemView& view : page.items) {
        ASSIGN_OR_RETURN(Checkpoint checkpoint, Decode(view));
        if (query_.only_valid && checkpoint.status != CheckpointStatus::kValid) continue;
        bytes += BytesOf(checkpoint);
        page_.checkpoints.push_back({.checkpoint = std::move(checkpoint)});
        --left;
      }
      if (page.end || !page.last) break;
      items.after = page.last;
    }
    return absl::OkStatus();
  }

  // The newest snapshots that nothing pins.
  absl::Status ReadWindow() {
    ASSIGN_OR_RETURN(const LoadedSession loaded, store_.LoadForDecision(key_, std::nullopt));
    page_.uid = loaded.head.uid;
    std::map<Revision, bool> kept;  // which of them are pinned
    std::vector<std::string> keys;
    for (const SnapshotRecord& record : loaded.head.snapshots) {
      const Revision revision = record.at.revision;
      if (!IsWanted({.revision = revision})) continue;
      kept[revision] = false;
      std::ranges::move(CheckpointKeysAt(revision), std::back_inserter(keys));
    }
    if (keys.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto views, ReadKeys(store_, key_, std::move(keys)));
    ASSIGN_OR_RETURN(const std::vector<Checkpoint> pinned, DecodeAll(views));
    for (const Checkpoint& checkpoint : pinned) kept[checkpoint.revision()] = true;
    size_t left = size_t{query_.limit} + 1;
    for (auto snapshot = kept.rbegin(); snapshot != kept.rend() && left > 0; ++snapshot) {
      if (snapshot->second) continue;
      RETURN_IF_ERROR(AddSnapshot(loaded.head, snapshot->first));
      --left;
    }
    return absl::OkStatus();
  }

  absl::Status AddSnapshot(const Head& head, Revision revision) {
    const auto description = ReadSnapshotDescription(store_, key_, revision);
    // It is no longer one of the newest.
    if (Is(description.status(), Reason::kRevisionPruned)) return absl::OkStatus();
    RETURN_IF_ERROR(description.status());
    ListedCheckpoint& listed = page_.checkpoints.emplace_back();
    listed.is_pinned = false;
    listed.checkpoint.snapshot = PinnedOf(head, SnapshotAt(head, revision));
    listed.checkpoint.turn = description->turn;
    listed.checkpoint.history = description->digest;
    return absl::OkStatus();
  }

  SessionStore& store_;
  const SessionKey& key_;
  const CheckpointQuery& query_;
  CheckpointPage page_;
};

}  // namespace

absl::StatusOr<std::vector<Checkpoint>> ReadCheckpointsAt(SessionStore& store,
                                                          const SessionKey& key,
                                                          Revision revision) {
  ASSIGN_OR_RETURN(const auto views, ReadKeys(store, key, CheckpointKeysAt(revision)));
  return DecodeAll(views);
}

absl::StatusOr<std::optional<Revision>> ReadCheckpointNamed(SessionStore& store,
                                                            const SessionKey& key,
                                                            const std::string& name) {
  ASSIGN_OR_RETURN(const auto views, ReadKeys(store, key, {CheckpointNameItemName(name).key}));
  if (views.empty()) return std::nullopt;
  const std::optional<Revision> revision = DecodeCheckpointName(views.front().item);
  if (!revision) return Damaged("checkpoint", 0);
  return revision;
}

absl::StatusOr<SnapshotDescription> ReadSnapshotDescription(SessionStore& store,
                                                            const SessionKey& key,
                                                            Revision revision) {
  ASSIGN_OR_RETURN(const SlotPage page,
                   store.ReadSlots(key, {.revision = revision, .owners = {kStoreSlotOwner}}));
  const auto description =
      page.slots.empty() ? std::nullopt : DecodeSnapshotDescription(page.slots.front().slot.data);
  if (!description) return Damaged("slot", 0);
  return *description;
}

absl::StatusOr<Head> ReadPinnedHead(SessionStore& store, const SessionKey& key, const Head& head,
                                    Revision revision) {
  if (revision >= OldestKept(head).revision || head.checkpoints.empty()) return head;
  ASSIGN_OR_RETURN(const std::vector<Checkpoint> there, ReadCheckpointsAt(store, key, revision));
  if (there.empty()) return head;
  return WithPinned(head, {&there.front().snapshot, 1});
}

absl::StatusOr<CheckpointPage> ReadCheckpoints(SessionStore& store, const SessionKey& key,
                                               const CheckpointQuery& query) {
  return Listing(store, key, query).Read();
}

}  // namespace holdfast
