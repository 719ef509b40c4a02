// The reference store with one line of its behaviour changed. The suite must see each change: a
// case that no mutant turns red proves nothing.
#ifndef HOLDFAST_TESTS_CONTRACT_MUTANT_STORE_H_
#define HOLDFAST_TESTS_CONTRACT_MUTANT_STORE_H_

#include "platform/clock.h"
#include "session/forwarding_store.h"
#include "session/store.h"
#include "session/store_call.h"
#include "tests/support/reference_disk.h"

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// What a mutation may look at and change.
struct Stage {
  SessionStore& store;
  ReferenceDisk& disk;
  const Clock& clock;
  int openings = 1;      // of this disk, this one included
  ReferenceDisk before;  // the disk before the last commit
  bool closed = false;

  // The session on the disk; nullptr when there is none.
  StoredSession* Find(const SessionKey& key) {
    const auto found = disk.sessions.find(key);
    return found == disk.sessions.end() ? nullptr : &found->second;
  }
};

using CommitAnswer = absl::StatusOr<CommitResult>;

// The session that `change` was applied to, as it is by now; nullptr after any other answer.
inline StoredSession* ChangedSession(Stage& stage, const Change& change,
                                     const CommitAnswer& answer) {
  if (!answer.ok() || answer->kind != CommitResult::Kind::kApplied) return nullptr;
  return stage.Find(change.key);
}

// What a read asks: only what its call has is set.
struct ReadArgs {
  SessionKey key;
  std::optional<Revision> revision;
  uint64_t after = 0;
  PageLimit limit;
  SlotQuery slots;
  std::optional<TurnNumber> turn;
};

// One chunk of an upload.
struct Chunk {
  SessionKey key;
  UploadId upload;
  uint64_t offset = 0;
  std::string bytes;
};

// Where a mutation acts; what is unset is left alone. `change` and the `ask_` hooks change what is
// asked, the others what is answered or what is on the disk by then.
struct Hooks {
  std::function<void(Stage&)> opened;
  std::function<void(Stage&)> closing;
  std::function<void(Stage&, int times)> disposed;
  std::function<void(absl::Status&)> init;
  std::function<void(absl::Status&)> health;
  std::function<void(Stage&, absl::StatusOr<StoreCheck>&)> check;
  std::function<void(StoreDescription&)> describe;
  std::function<void(SessionKey&)> key;      // of every call that names one session
  std::function<void(absl::Status&)> error;  // of every load, commit and read that has one
  std::function<void(Stage&, const SessionKey&, LoadedSession&)> load;
  std::function<void(Stage&, const RequestId&, absl::StatusOr<LoadedSession>&)> outcome;
  std::function<void(Stage&, Change&)> change;
  std::function<void(Stage&, const Change&, CommitAnswer&)> committed;
  std::function<void(std::vector<GroupedResult>&)> grouped;
  std::function<void(Head&)> cached;
  std::function<void(Stage&, Chunk&)> ask_stage;
  std::function<bool(absl::Status&)> drop;  // false: nothing is dropped
  std::function<void(uint64_t offset, absl::StatusOr<std::string>&)> staged;
  std::function<void(Stage&, ReadArgs&)> ask_read;
  std::function<void(const ReadArgs&, absl::StatusOr<MessagePage>&)> messages;
  std::function<void(const ReadArgs&, absl::StatusOr<SlotPage>&)> slots;
  std::function<void(ItemQuery&, PageLimit&)> ask_items;
  std::function<void(Stage&, const SessionKey&, const ItemQuery&, absl::StatusOr<ItemPage>&)> items;
  std::function<void(const ReadArgs&, absl::StatusOr<JournalPage>&)> journal;
  std::function<void(const ReadArgs&, absl::StatusOr<EventPage>&)> events;
  std::function<void(Stage&, const SessionKey&, absl::StatusOr<Event>&)> last_event;
  std::function<void(Stage&, absl::Duration at_most, absl::StatusOr<Wakeups>&)> wakeups;
  std::function<void(const ReadArgs&, absl::StatusOr<AuditPage>&)> audit;
  std::function<void(ListQuery&)> ask_list;
  std::function<void(Stage&, const ListQuery&, absl::StatusOr<ListPage>&)> list;
  std::function<void(std::optional<SessionKey>& after)> ask_due;
  std::function<void(Stage&, std::vector<SessionKey>&)> due;
  std::function<void(Stage&, std::vector<RenewRequest>&)> ask_renew;
  std::function<void(Stage&, std::vector<absl::StatusOr<Renewed>>&)> renewed;
};

class MutantStore final : public ForwardingStore {
 public:
  MutantStore(std::shared_ptr<ReferenceDisk> disk, const Clock& clock, const Hooks& hooks,
              int openings);

  [[nodiscard]] StoreDescription Describe() const override;
  absl::Status Deactivate() override;
  void Dispose() override;
  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override;
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                               const RequestId& request) override;
  absl::StatusOr<CommitResult> Commit(const Change& change) override;
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override;
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override;
  absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                           std::string_view bytes) override;
  absl::Status DropUpload(const SessionKey& key, const UploadId& upload) override;
  absl::StatusOr<std::string> ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                         uint64_t offset, size_t count) override;
  absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key, std::optional<Revision> revision,
                                           MessageSeq after, PageLimit limit) override;
  absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) override;
  absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                          PageLimit limit) override;
  absl::StatusOr<ItemPage> ReadItems(const SessionKey& key, const ItemQuery& query,
                                     PageLimit limit) override;
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override;
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override;
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override;
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override;
  absl::StatusOr<ListPage> List(const ListQuery& query) override;
  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  const std::optional<SessionKey>& after,
                                                  size_t limit) override;
  std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) override;
  absl::StatusOr<StoreCheck> Check() override;

 private:
  ReadArgs Asked(ReadArgs args) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Around(StoreCall call, absl::FunctionRef<absl::Status()> act) override;

  const std::shared_ptr<ReferenceDisk> disk_;
  const Hooks hooks_;
  absl::Mutex mutex_;  // a mutation touches the disk: one call at a time
  Stage stage_ ABSL_GUARDED_BY(mutex_);
  int disposals_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CONTRACT_MUTANT_STORE_H_
