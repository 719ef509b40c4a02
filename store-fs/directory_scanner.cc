#include "store-fs/directory_scanner.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-fs/bounds.h"
#include "store-fs/deleted_session.h"
#include "store-fs/layout.h"
#include "store-fs/manifest.h"
#include "store-fs/recovery.h"
#include "store-fs/root.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::fs {

absl::Status DirectoryScanner::FinishDeletes() {
  for (const Tombstone& tombstone : environment_.tombstones.Unfinished()) {
    const absl::Status removed = FinishRemoval(environment_, tombstone);
    if (absl::IsResourceExhausted(removed)) continue;  // the next start, or a creation, does it
    RETURN_IF_ERROR(removed);
  }
  return absl::OkStatus();
}

void DirectoryScanner::Run(const std::stop_token& stop, std::optional<int64_t> rows_of_ns) {
  const absl::MutexLock lock(&mutex_);
  run_ = true;
  rows_of_ns_ = rows_of_ns;
  if (CompareAll(stop, rows_of_ns) && !stop.stop_requested()) listing_.SetComplete();
}

void DirectoryScanner::Compare() {
  const absl::MutexLock lock(&mutex_);
  const bool complete = listing_.complete();
  const bool all = CompareAll(std::stop_token(), complete ? std::nullopt : rows_of_ns_);
  if (all && run_ && !complete) listing_.SetComplete();
}

bool DirectoryScanner::CompareAll(const std::stop_token& stop, std::optional<int64_t> rows_of_ns) {
  absl::StatusOr<std::vector<std::string>> tenants = absl::UnknownError("not read");
  guard_.Run([&] { tenants = environment_.files.List(kSessions); });
  bool all = tenants.ok();
  if (!all) return false;
  for (const std::string& name : *tenants) {
    const auto tenant = TenantId::Parse(name);
    if (!tenant) continue;
    bool whole = false;
    guard_.Run([&] { whole = CompareTenant(*tenant, stop, rows_of_ns); });
    if (!whole) all = false;
  }
  return all;
}

std::vector<SessionKey> DirectoryScanner::Reappeared(size_t most) {
  std::vector<SessionKey> found;
  const auto tenants = environment_.files.List(kSessions);
  if (!tenants.ok()) return found;
  for (const std::string& tenant_name : *tenants) {
    const auto tenant = TenantId::Parse(tenant_name);
    const auto names = environment_.files.List(std::string(kSessions) + "/" + tenant_name);
    if (!tenant || !names.ok()) continue;
    for (const std::string& name : *names) {
      const auto id = SessionId::Parse(name);
      if (!id || found.size() == most) continue;
      SessionKey key{*tenant, *id};
      const std::optional<Tombstone> tombstone = environment_.tombstones.Find(key);
      // A directory whose removal is not finished has not reappeared, nor has a session that was
      // created in the place of the deleted one.
      if (!tombstone || !tombstone->removed || IsReplaced(*tombstone)) continue;
      found.push_back(std::move(key));
    }
  }
  return found;
}

bool DirectoryScanner::IsReplaced(const Tombstone& tombstone) const {
  if (!tombstone.next) return false;
  const absl::StatusOr<SessionUid> uid = UidInPlace(environment_, tombstone.key);
  if (IsLack(uid.status())) return true;  // what it is instead is not known
  return uid.ok() && *uid == *tombstone.next;
}

bool DirectoryScanner::CompareTenant(const TenantId& tenant, const std::stop_token& stop,
                                     std::optional<int64_t> rows_of_ns) {
  const std::vector<std::string> known = listing_.Ids(tenant);  // sorted, as the names are
  const auto names = environment_.files.List(std::string(kSessions) + "/" + tenant.value());
  // A directory that has gone, or something else in its place, holds no session.
  bool all =
      names.ok() || absl::IsNotFound(names.status()) || absl::IsFailedPrecondition(names.status());
  if (!names.ok()) return all;
  for (const std::string& name : *names) {
    if (stop.stop_requested()) return all;
    const auto id = SessionId::Parse(name);
    if (!id) continue;
    const SessionKey key{tenant, *id};
    bool unknown = !std::ranges::binary_search(known, name);
    if (!unknown && rows_of_ns && ChangedSince(key, *rows_of_ns)) {
      listing_.Remove(key);
      unknown = true;
    }
    if (unknown && !ScanGuarded(key)) all = false;
  }
  for (const std::string& name : known) {
    if (std::ranges::binary_search(*names, name)) continue;
    // It may have been created after the names were read.
    const SessionKey key{tenant, *SessionId::Parse(name)};
    if (absl::IsNotFound(environment_.files.Stat(DirectoryOf(key)).status())) listing_.Remove(key);
  }
  return all;
}

// A change by another program sets one of these times, also when it restores an older directory.
bool DirectoryScanner::ChangedSince(const SessionKey& key, int64_t moment_ns) const {
  const std::string directory = DirectoryOf(key);
  const std::string paths[] = {directory, directory + "/" + kManifestFile,
                               directory + "/" + kJournalFile};
  return std::ranges::any_of(paths, [&](const std::string& path) {
    const absl::StatusOr<FileInfo> info = environment_.files.Stat(path);
    return !info.ok() || info->changed_ns >= moment_ns;
  });
}

bool DirectoryScanner::ScanGuarded(const SessionKey& key) {
  bool looked = true;
  if (guard_.Run([&] { looked = Scan(key); })) return looked;
  // A call that opens the session replaces the row.
  listing_.PutIfUnknown(key.tenant,
                        UnreadableRow(key.session, Refusal(Reason::kDamaged, "").ToStatus()));
  return true;
}

bool DirectoryScanner::Scan(const SessionKey& key) {
  const std::optional<Tombstone> tombstone = environment_.tombstones.Find(key);
  if (tombstone && !tombstone->next) return true;  // a directory that reappeared is never read
  if (environment_.identity.unsynced) {
    sessions_.Get(key)->DurableHead().IgnoreError();
  }
  absl::StatusOr<Head> head = PeekSession(environment_.files, key, environment_.identity,
                                          environment_.watermarks.Find(key));
  // Read without the session's lock: a rotation may have replaced its files meanwhile.
  if (Is(head.status(), Reason::kDamaged)) head = sessions_.Get(key)->DurableHead();
  const absl::Status& status = head.status();
  if (IsShortage(status) || Is(status, Reason::kOverloaded)) return false;
  if (head.ok() && tombstone && head->uid != *tombstone->next) return true;
  if (head.ok()) {
    listing_.PutIfUnknown(key.tenant, RowOf(key.session, *head));
  } else if (!Is(status, Reason::kSessionNotFound) && !Is(status, Reason::kTombstoned)) {
    listing_.PutIfUnknown(key.tenant, UnreadableRow(key.session, status));
  }
  return true;
}

}  // namespace holdfast::fs
