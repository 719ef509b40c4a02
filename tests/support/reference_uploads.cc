// Uploads of the reference store.
#include "platform/status_macros.h"
#include "session/refusal.h"
#include "tests/support/reference_store.h"

#include <algorithm>
#include <string>

namespace holdfast::test {

absl::Status ReferenceStore::StageUpload(const SessionKey& key, const UploadId& upload,
                                         uint64_t offset, std::string_view bytes) {
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Serving());
  StagedUpload& staged = disk_->staged.try_emplace(upload, StagedUpload{.key = key}).first->second;
  if (staged.key != key || offset > staged.bytes.size()) {
    return InvalidField("offset", "must be where the upload ends")
        .With("expected", staged.bytes.size());
  }
  staged.touched = clock_.SinceBoot();
  const size_t there = staged.bytes.size() - offset;
  if (there < bytes.size()) staged.bytes += bytes.substr(there);
  return absl::OkStatus();
}

absl::Status ReferenceStore::DropUpload(const SessionKey& key, const UploadId& upload) {
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Serving());
  const auto found = disk_->staged.find(upload);
  if (found != disk_->staged.end() && found->second.key == key) disk_->staged.erase(found);
  return absl::OkStatus();
}

bool ReferenceStore::HasStaged(const SessionKey& key, const UploadLink& link) {
  const auto found = disk_->staged.find(link.id);
  if (found == disk_->staged.end()) return false;
  const StagedUpload& staged = found->second;
  return staged.key == key && staged.bytes.size() == link.bytes &&
         Sha256(staged.bytes) == link.sha256;
}

absl::StatusOr<std::string> ReferenceStore::ReadStaged(const SessionKey& key,
                                                       const StagedBytes& bytes, uint64_t offset,
                                                       size_t count) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  const auto found = session->uploads.find(bytes.upload);
  if (found == session->uploads.end()) {
    return Refusal(Reason::kRevisionPruned, "these bytes are no longer kept");
  }
  if (offset >= bytes.size) return std::string();
  return found->second.substr(bytes.offset + offset,
                              std::min<uint64_t>(count, bytes.size - offset));
}

}  // namespace holdfast::test
