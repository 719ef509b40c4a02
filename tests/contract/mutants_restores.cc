// Mutants of restores.
#include "tests/contract/mutants.h"

#include <utility>

namespace holdfast::test {
namespace {

// Calls `mutate` for each session of the disk whose history was restored.
template <typename Mutate>
void EachRestored(Stage& stage, Mutate mutate) {
  for (auto& [key, session] : stage.disk.sessions) {
    if (session.head.generation > Generation(1) && !session.messages.empty()) mutate(session);
  }
}

const std::vector<Mutant> kRestoreMutants = {
    {"restores-a-message-less",
     {.change =
          [](Stage&, Change& change) {
            if (!change.restores || change.restores->messages == MessageSeq()) return;
            change.restores->messages = MessageSeq(change.restores->messages.value() - 1);
          }}},
    {"ends-a-page-where-a-restored-history-goes-on",
     {.messages =
          [](const ReadArgs& args, absl::StatusOr<MessagePage>& page) {
            constexpr uint64_t kBorder = 2;
            if (!page.ok() || page->generation < Generation(3) || args.after >= kBorder) return;
            if (args.after + page->messages.size() > kBorder && args.after > 0)
              page->messages.resize(kBorder - args.after);
          }}},
    {"adds-nothing-to-a-restored-history",
     {.change =
          [](Stage&, Change& change) {
            if (change.restores) change.messages.clear();
          }}},
    {"cuts-the-history-that-it-restores",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.restores) return;
            session->former[change.restores->generation].resize(change.restores->messages.value());
          }}},
    {"opens-without-the-end-of-a-restored-history",
     {.opened =
          [](Stage& stage) {
            if (stage.openings < 2) return;
            EachRestored(stage, [](StoredSession& session) { session.messages.pop_back(); });
          }}},
    {"prunes-what-a-restored-history-begins-with",
     {.committed =
          [](Stage& stage, const Change&, CommitAnswer&) {
            EachRestored(stage, [](StoredSession& session) {
              if (session.head.snapshots.front().generation == Generation(1)) return;
              if (session.messages.front().data == "a") session.messages.front().data = "pruned";
            });
          }}},
    {"restores-from-the-first-history",
     {.change =
          [](Stage&, Change& change) {
            if (change.restores) change.restores->generation = Generation(1);
          }}},
    {"keeps-no-digests-in-messages",
     {.messages =
          [](const ReadArgs&, absl::StatusOr<MessagePage>& page) {
            if (!page.ok()) return;
            for (Message& message : page->messages) message.history.reset();
          }}},
    {"forgets-what-a-restore-removed",
     {.change = [](Stage&, Change& change) { change.removed.clear(); }}},
    {"looks-at-no-position",
     {.change =
          [](Stage&, Change& change) {
            if (change.premise) change.premise->at.reset();
          }}},
    {"forgets-uploads-with-a-restore",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr && change.restores) session->uploads.clear();
          }}},
};

}  // namespace

const std::vector<Mutant>& RestoreMutants() { return kRestoreMutants; }

}  // namespace holdfast::test
