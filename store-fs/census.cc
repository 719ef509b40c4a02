#include "store-fs/census.h"

#include "session/refusal.h"
#include "session/status_macros.h"
#include "store-fs/manifest.h"
#include "store-fs/recovery.h"
#include "store-fs/root.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace holdfast::fs {
namespace {

SessionRow MarkedRow(const SessionId& id, const absl::Status& status) {
  SessionRow row;
  row.id = id;
  const Refusal refusal = RefusalOf(status);
  row.mark = SessionRow::Mark::kDamaged;
  if (refusal.reason() == Reason::kResumeMismatch) {
    row.mark = SessionRow::Mark::kForeign;
    row.foreign_store = refusal.facts().at("stored");
  }
  return row;
}

}  // namespace

absl::Status Census::FinishDeletes() {
  Files& files = environment_.files;
  for (const Tombstone& tombstone : environment_.tombstones.Unfinished()) {
    const std::string directory = DirectoryOf(tombstone.key);
    const auto text = ReadWhole(files, directory + "/" + kManifestFile, kManifestMost);
    const auto manifest = text.ok()
                              ? DecodeManifest(*text, tombstone.key, environment_.identity.store)
                              : absl::StatusOr<Manifest>(text.status());
    // A directory of another session that came later is kept and never read.
    if (manifest.ok() && manifest->uid == tombstone.uid) {
      const std::string grave = std::string(kTmp) + "/" + tombstone.uid.value() + ".deleted";
      RETURN_IF_ERROR(files.Rename(directory, grave));
      RETURN_IF_ERROR(
          files.SyncDirectory(std::string(kSessions) + "/" + tombstone.key.tenant.value()));
      RETURN_IF_ERROR(RemoveTree(files, grave));
    }
    RETURN_IF_ERROR(environment_.tombstones.NoteRemoved(tombstone.key));
  }
  return absl::OkStatus();
}

void Census::Run(const std::stop_token& stop) {
  CompareAll(stop);
  if (!stop.stop_requested()) listing_.SetComplete();
}

void Census::CompareAll(const std::stop_token& stop) {
  const absl::MutexLock lock(&mutex_);
  const auto tenants = environment_.files.List(kSessions);
  if (!tenants.ok()) return;
  for (const std::string& name : *tenants) {
    const auto tenant = TenantId::Parse(name);
    if (tenant) CompareTenant(*tenant, stop);
  }
}

void Census::CompareTenant(const TenantId& tenant, const std::stop_token& stop) {
  const std::vector<std::string> known = listing_.Ids(tenant);  // sorted, as the names are
  const auto names = environment_.files.List(std::string(kSessions) + "/" + tenant.value());
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (stop.stop_requested()) return;
    const auto id = SessionId::Parse(name);
    if (id && !std::ranges::binary_search(known, name)) LookAt({tenant, *id});
  }
  for (const std::string& name : known) {
    if (std::ranges::binary_search(*names, name)) continue;
    // It may have been created after the names were read.
    const SessionKey key{tenant, *SessionId::Parse(name)};
    if (absl::IsNotFound(environment_.files.Stat(DirectoryOf(key)).status())) listing_.Remove(key);
  }
}

void Census::LookAt(const SessionKey& key) {
  if (environment_.tombstones.Find(key)) return;  // a directory that reappeared is never read
  const absl::StatusOr<Head> head = PeekSession(environment_.files, key, environment_.identity);
  if (head.ok()) {
    listing_.PutIfUnknown(key.tenant, RowOf(key.session, *head));
  } else if (RefusalOf(head.status()).reason() != Reason::kSessionNotFound) {
    listing_.PutIfUnknown(key.tenant, MarkedRow(key.session, head.status()));
  }
}

}  // namespace holdfast::fs
