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
    {"counts-no-checkpoints-of-its-own",
     {.change =
          [](Stage&, Change& change) {
            if (change.checkpoints) change.checkpoints->own = 0;
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
