#include "tests/contract/mutant_store.h"

#include "tests/support/reference_store.h"

#include <memory>
#include <utility>

namespace holdfast::test {

MutantStore::MutantStore(std::shared_ptr<ReferenceDisk> disk, const Clock& clock,
                         const Hooks& hooks, int openings)
    : ForwardingStore(std::make_unique<ReferenceStore>(disk, clock)),
      disk_(std::move(disk)),
      hooks_(hooks),
      stage_{.store = store(),
             .disk = *disk_,
             .clock = clock,
             .openings = openings,
             .before = *disk_} {
  if (hooks_.opened) hooks_.opened(stage_);
}

ReadArgs MutantStore::Asked(ReadArgs args) {
  if (hooks_.key) hooks_.key(args.key);
  if (hooks_.ask_read) hooks_.ask_read(stage_, args);
  return args;
}

absl::Status MutantStore::Around(StoreCall call, absl::FunctionRef<absl::Status()> act) {
  absl::Status status = act();
  switch (call) {
    case StoreCall::kInit:
      if (hooks_.init) hooks_.init(status);
      break;
    case StoreCall::kCheckHealth:
      if (hooks_.health) hooks_.health(status);
      break;
    case StoreCall::kLoadForDecision:
    case StoreCall::kLoadForOutcome:
    case StoreCall::kCommit:
    case StoreCall::kReadMessages:
    case StoreCall::kReadSlots:
    case StoreCall::kReadJournal:
    case StoreCall::kReadEvents:
    case StoreCall::kReadAudit:
      if (hooks_.error && !status.ok()) hooks_.error(status);
      break;
    default:
      break;
  }
  return status;
}

StoreDescription MutantStore::Describe() const {
  StoreDescription description = ForwardingStore::Describe();
  if (hooks_.describe) hooks_.describe(description);
  return description;
}

absl::Status MutantStore::Deactivate() {
  const absl::MutexLock lock(&mutex_);
  if (hooks_.closing && !stage_.closed) hooks_.closing(stage_);
  stage_.closed = true;
  return ForwardingStore::Deactivate();
}

void MutantStore::Dispose() {
  const absl::MutexLock lock(&mutex_);
  if (hooks_.disposed) hooks_.disposed(stage_, ++disposals_);
  ForwardingStore::Dispose();
}

absl::StatusOr<StoreCheck> MutantStore::Check() {
  absl::StatusOr<StoreCheck> check = ForwardingStore::Check();
  const absl::MutexLock lock(&mutex_);
  if (hooks_.check) hooks_.check(stage_, check);
  return check;
}

absl::StatusOr<LoadedSession> MutantStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args = Asked({.key = key});
  auto answer = ForwardingStore::LoadForDecision(args.key, request);
  if (hooks_.load && answer.ok()) hooks_.load(stage_, args.key, *answer);
  return answer;
}

absl::StatusOr<LoadedSession> MutantStore::LoadForOutcome(const SessionKey& key,
                                                          const RequestId& request) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args = Asked({.key = key});
  auto answer = ForwardingStore::LoadForOutcome(args.key, request);
  if (hooks_.outcome) hooks_.outcome(stage_, request, answer);
  return answer;
}

absl::StatusOr<CommitResult> MutantStore::Commit(const Change& change) {
  const absl::MutexLock lock(&mutex_);
  Change asked = change;
  if (hooks_.key) hooks_.key(asked.key);
  const ReferenceDisk before = *disk_;
  if (hooks_.change) hooks_.change(stage_, asked);
  auto answer = ForwardingStore::Commit(asked);
  if (answer.ok() && answer->kind == CommitResult::Kind::kApplied) stage_.before = before;
  if (hooks_.committed) hooks_.committed(stage_, asked, answer);
  return answer;
}

std::vector<GroupedResult> MutantStore::CommitMany(const std::vector<GroupedChange>& changes) {
  // NOLINTNEXTLINE(bugprone-parent-virtual-call): each change passes through Commit of this class
  std::vector<GroupedResult> results = SessionStore::CommitMany(changes);
  if (hooks_.grouped) hooks_.grouped(results);
  return results;
}

std::shared_ptr<const Head> MutantStore::CachedHead(const SessionKey& key) {
  const std::shared_ptr<const Head> head = ForwardingStore::CachedHead(key);
  if (!head || !hooks_.cached) return head;
  Head mutated = *head;
  hooks_.cached(mutated);
  return std::make_shared<const Head>(std::move(mutated));
}

absl::Status MutantStore::StageUpload(const SessionKey& key, const UploadId& upload,
                                      uint64_t offset, std::string_view bytes) {
  const absl::MutexLock lock(&mutex_);
  Chunk chunk{.key = key, .upload = upload, .offset = offset, .bytes = std::string(bytes)};
  if (hooks_.ask_stage) hooks_.ask_stage(stage_, chunk);
  return ForwardingStore::StageUpload(chunk.key, chunk.upload, chunk.offset, chunk.bytes);
}

absl::Status MutantStore::DropUpload(const SessionKey& key, const UploadId& upload) {
  const absl::MutexLock lock(&mutex_);
  absl::Status answer = absl::OkStatus();
  if (!hooks_.drop || hooks_.drop(answer)) answer = ForwardingStore::DropUpload(key, upload);
  return answer;
}

absl::StatusOr<std::string> MutantStore::ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                                    uint64_t offset, size_t count) {
  const absl::MutexLock lock(&mutex_);
  auto answer = ForwardingStore::ReadStaged(key, bytes, offset, count);
  if (hooks_.staged) hooks_.staged(offset, answer);
  return answer;
}

absl::StatusOr<MessagePage> MutantStore::ReadMessages(const SessionKey& key,
                                                      std::optional<Revision> revision,
                                                      MessageSeq after, PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args =
      Asked({.key = key, .revision = revision, .after = after.value(), .limit = limit});
  auto answer =
      ForwardingStore::ReadMessages(args.key, args.revision, MessageSeq(args.after), args.limit);
  if (hooks_.messages) hooks_.messages(args, answer);
  return answer;
}

absl::StatusOr<SlotPage> MutantStore::ReadSlots(const SessionKey& key, const SlotQuery& query) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args = Asked({.key = key, .revision = query.revision, .slots = query});
  SlotQuery asked = args.slots;
  asked.revision = args.revision;
  auto answer = ForwardingStore::ReadSlots(args.key, asked);
  if (hooks_.slots) hooks_.slots(args, answer);
  return answer;
}

absl::StatusOr<ItemPage> MutantStore::ReadItems(const SessionKey& key, const ItemQuery& query,
                                                PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args = Asked({.key = key, .limit = limit});
  ItemQuery asked = query;
  PageLimit wanted = args.limit;
  if (hooks_.ask_items) hooks_.ask_items(asked, wanted);
  auto answer = ForwardingStore::ReadItems(args.key, asked, wanted);
  if (hooks_.items) hooks_.items(stage_, args.key, asked, answer);
  return answer;
}

absl::StatusOr<JournalPage> MutantStore::ReadJournal(const SessionKey& key,
                                                     const JournalQuery& query, PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args =
      Asked({.key = key, .after = query.after.value(), .limit = limit, .turn = query.turn});
  auto answer = ForwardingStore::ReadJournal(
      args.key, {.after = JournalNumber(args.after), .turn = args.turn}, args.limit);
  if (hooks_.journal) hooks_.journal(args, answer);
  return answer;
}

absl::StatusOr<EventPage> MutantStore::ReadEvents(const SessionKey& key, EventSeq after,
                                                  PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args = Asked({.key = key, .after = after.value(), .limit = limit});
  auto answer = ForwardingStore::ReadEvents(args.key, EventSeq(args.after), args.limit);
  if (hooks_.events) hooks_.events(args, answer);
  return answer;
}

absl::StatusOr<Event> MutantStore::ReadLastEvent(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args = Asked({.key = key});
  auto answer = ForwardingStore::ReadLastEvent(args.key);
  if (hooks_.last_event) hooks_.last_event(stage_, args.key, answer);
  return answer;
}

absl::StatusOr<Wakeups> MutantStore::WaitForEvents(absl::Duration at_most) {
  auto answer = ForwardingStore::WaitForEvents(at_most);  // others act while it waits
  const absl::MutexLock lock(&mutex_);
  if (hooks_.wakeups) hooks_.wakeups(stage_, at_most, answer);
  return answer;
}

absl::StatusOr<AuditPage> MutantStore::ReadAudit(const SessionKey& key, AuditSeq after,
                                                 PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  const ReadArgs args = Asked({.key = key, .after = after.value(), .limit = limit});
  auto answer = ForwardingStore::ReadAudit(args.key, AuditSeq(args.after), args.limit);
  if (hooks_.audit) hooks_.audit(args, answer);
  return answer;
}

absl::StatusOr<ListPage> MutantStore::List(const ListQuery& query) {
  const absl::MutexLock lock(&mutex_);
  ListQuery asked = query;
  if (hooks_.ask_list) hooks_.ask_list(asked);
  auto answer = ForwardingStore::List(asked);
  if (hooks_.list) hooks_.list(stage_, asked, answer);
  return answer;
}

absl::StatusOr<std::vector<SessionKey>> MutantStore::ListDue(DueKind kind, absl::Duration quiet,
                                                             const std::optional<SessionKey>& after,
                                                             size_t limit) {
  const absl::MutexLock lock(&mutex_);
  std::optional<SessionKey> asked = after;
  if (hooks_.ask_due) hooks_.ask_due(asked);
  auto answer = ForwardingStore::ListDue(kind, quiet, asked, limit);
  if (hooks_.due && answer.ok()) hooks_.due(stage_, *answer);
  return answer;
}

std::vector<absl::StatusOr<Renewed>> MutantStore::RenewLeases(
    const std::vector<RenewRequest>& requests) {
  const absl::MutexLock lock(&mutex_);
  std::vector<RenewRequest> asked = requests;
  if (hooks_.ask_renew) hooks_.ask_renew(stage_, asked);
  auto answers = ForwardingStore::RenewLeases(asked);
  if (hooks_.renewed) hooks_.renewed(stage_, answers);
  return answers;
}

}  // namespace holdfast::test
