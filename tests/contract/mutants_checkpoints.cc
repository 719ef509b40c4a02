// Mutants of checkpoints and of what they pin.
#include "session/checkpoint.h"
#include "tests/contract/mutants.h"

#include <map>
#include <optional>
#include <utility>

namespace holdfast::test {
namespace {

// Calls `mutate` for each checkpoint that the change puts.
template <typename Mutate>
void EachPut(Change& change, Mutate mutate) {
  if (!change.checkpoints) return;
  for (CheckpointPut& put : change.checkpoints->puts) mutate(put);
}

// Drops the items of the disk's checkpoints that `drops` takes.
template <typename Drops>
void DropCheckpoints(Stage& stage, Drops drops) {
  for (auto& [key, session] : stage.disk.sessions) {
    std::erase_if(session.items, [&](const auto& item) {
      return item.first.collection == kCheckpointCollection && drops(item.first);
    });
  }
}

// Calls `act` for each checkpoint on the disk of a snapshot that is older than the newest ones.
template <typename Act>
void EachPinned(Stage& stage, Act act) {
  for (auto& [key, session] : stage.disk.sessions) {
    if (session.head.snapshots.empty()) continue;
    const std::map<ItemName, Item> items = session.items;
    for (const auto& [name, item] : items) {
      const std::optional<Checkpoint> checkpoint =
          CheckpointKindOf(name) ? DecodeCheckpoint(item) : std::nullopt;
      if (checkpoint && checkpoint->revision() < OldestKept(session.head).revision) {
        act(session, *checkpoint);
      }
    }
  }
}

// Deletes the checkpoints of a kind that the session of `change` has.
void ForgetOwn(Stage& stage, const Change& change, CheckpointKind kind) {
  StoredSession* const session = stage.Find(change.key);
  if (session == nullptr) return;
  std::erase_if(session->head.checkpoints.own,
                [&](const OwnCheckpoint& own) { return own.kind == kind; });
  std::erase_if(session->items,
                [&](const auto& item) { return CheckpointKindOf(item.first) == kind; });
}

bool IsName(const ItemName& name) { return !CheckpointKindOf(name); }

const std::vector<Mutant> kCheckpointMutants = {
    {"forgets-the-status-of-a-checkpoint",
     {.change =
          [](Stage&, Change& change) {
            EachPut(change,
                    [](CheckpointPut& put) { put.checkpoint.status = CheckpointStatus::kValid; });
          }}},
    {"pins-without-the-turn-of-its-own-snapshot",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.checkpoints) return;
            for (auto& [name, item] : session->items) {
              std::optional<Checkpoint> checkpoint = DecodeCheckpoint(item);
              if (!checkpoint || !change.snapshot) continue;
              checkpoint->turn = TurnNumber();
              item.data = EncodeCheckpoint(*checkpoint).data;
            }
          }}},
    {"deletes-a-checkpoint-without-its-name",
     {.change =
          [](Stage&, Change& change) {
            if (change.checkpoints) std::erase_if(change.checkpoints->deletes, IsName);
          }}},
    {"counts-no-checkpoints",
     {.change =
          [](Stage&, Change& change) {
            if (change.checkpoints) change.checkpoints->manual = 0;
          }}},
    {"looks-at-no-premise-about-checkpoints",
     {.change =
          [](Stage&, Change& change) {
            if (change.premise) change.premise->checkpoints.reset();
          }}},
    {"gives-a-name-to-two-checkpoints",
     {.change =
          [](Stage&, Change& change) {
            EachPut(change, [](CheckpointPut& put) { put.takes_name = false; });
          }}},
    {"opens-without-names-of-checkpoints",
     {.opened =
          [](Stage& stage) {
            if (stage.openings > 1) DropCheckpoints(stage, IsName);
          }}},
    {"prunes-what-is-pinned",
     {.committed =
          [](Stage& stage, const Change&, CommitAnswer&) {
            EachPinned(stage, [](StoredSession& session, const Checkpoint& checkpoint) {
              session.items.erase(CheckpointItemName(checkpoint.kind, checkpoint.revision()));
            });
          }}},
    {"prunes-a-replaced-history-that-is-pinned",
     {.committed =
          [](Stage& stage, const Change&, CommitAnswer&) {
            EachPinned(stage, [](StoredSession& session, const Checkpoint& checkpoint) {
              const auto former = session.former.find(checkpoint.snapshot.record.generation);
              if (former != session.former.end()) former->second.clear();
            });
          }}},
    {"restores-nothing-of-a-pinned-history",
     {.change =
          [](Stage&, Change& change) {
            if (change.restores && !change.restores->spans.empty()) {
              change.restores->messages = MessageSeq();
            }
          }}},
    {"opens-without-checkpoints",
     {.opened =
          [](Stage& stage) {
            if (stage.openings < 2) return;
            DropCheckpoints(stage, [](const ItemName& name) { return !IsName(name); });
          }}},
    {"reads-a-pinned-snapshot-for-any-that-was-pruned",
     {.ask_read =
          [](Stage& stage, ReadArgs& args) {
            for (std::optional<Revision>* const revision : {&args.revision, &args.slots.revision}) {
              if (!*revision) continue;
              EachPinned(stage, [&](StoredSession& session, const Checkpoint& checkpoint) {
                if (**revision < OldestKept(session.head).revision) {
                  *revision = checkpoint.revision();
                }
              });
            }
          }}},
    {"pins-for-ever",
     {.change =
          [](Stage&, Change& change) {
            if (!change.checkpoints) return;
            std::erase_if(change.checkpoints->deletes,
                          [](const ItemName& name) { return !IsName(name); });
          }}},
    {"unpins-with-the-first-checkpoint-that-goes",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer&) {
            if (!change.checkpoints) return;
            for (const ItemName& gone : change.checkpoints->deletes) {
              if (IsName(gone)) continue;
              const Revision revision = CheckpointRevisionOf(gone);
              DropCheckpoints(stage, [&](const ItemName& name) {
                return !IsName(name) && CheckpointRevisionOf(name) == revision;
              });
            }
          }}},
    {"forgets-uploads-of-pinned-snapshots",
     {.committed =
          [](Stage& stage, const Change&, CommitAnswer&) {
            EachPinned(stage,
                       [](StoredSession& session, const Checkpoint&) { session.uploads.clear(); });
          }}},
    {"forgets-deletions-that-a-pinned-snapshot-sees",
     {.committed =
          [](Stage& stage, const Change&, CommitAnswer&) {
            EachPinned(stage, [](StoredSession& session, const Checkpoint& checkpoint) {
              for (auto& [owner, versions] : session.slots) {
                std::erase_if(versions, [&](const SlotVersion& version) {
                  return !version.slot && version.from <= checkpoint.revision();
                });
              }
            });
          }}},
    {"pins-no-snapshot-before-a-change",
     {.change = [](Stage&, Change& change) { change.pins_previous.reset(); }}},
    {"keeps-one-checkpoint-of-an-own-kind",
     {.change =
          [](Stage& stage, Change& change) {
            if (change.pins_previous) ForgetOwn(stage, change, *change.pins_previous);
          }}},
    {"pins-again-what-is-pinned-so",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || !change.pins_previous) return;
            std::erase(session->head.checkpoints.own,
                       OwnCheckpoint{.kind = *change.pins_previous,
                                     .revision = session->head.snapshots.back().at.revision});
          }}},
    {"names-no-own-checkpoints-in-the-head",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->head.checkpoints.own.clear();
          }}},
    {"counts-no-compactions", {.change = [](Stage&, Change& change) { change.compacts = false; }}},
    {"counts-no-contexts",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr && session->head.context_number > 0) {
              session->head.context_number = 1;
            }
          }}},
    {"forgets-the-turn-of-the-newest-snapshot",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->head.snapshot_turn = TurnNumber();
          }}},
    {"replaces-no-history-in-a-turn",
     {.change =
          [](Stage&, Change& change) {
            if (change.end_turn) change.replaces_history = false;
          }}},
    {"counts-checkpoints-as-items-of-a-client",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            const bool pins = change.pins_previous || change.checkpoints;
            if (session == nullptr || !pins) return;
            if (session->items.size() < stage.disk.item_bounds.items) return;
            change.items.puts.push_back({.item = {.name = {.collection = "notes", .key = "own"}}});
          }}},
    {"leaves-uids-out-of-rows",
     {.list =
          [](Stage&, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            for (SessionRow& row : page->rows) row.uid = SessionUid();
          }}},
};

}  // namespace

const std::vector<Mutant>& CheckpointMutants() { return kCheckpointMutants; }

}  // namespace holdfast::test
