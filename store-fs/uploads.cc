#include "store-fs/uploads.h"

#include "platform/status_macros.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/crc32c.h"
#include "store-fs/root.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

constexpr size_t kBlock = 64 * kKiB;  // bytes of the upload in a block
constexpr size_t kSum = 4;            // the CRC-32C before them
constexpr size_t kWhole = kBlock + kSum;

std::string StagedPath(const UploadId& id) {
  return std::string(kTmp) + "/" + id.value() + ".upload";
}

static_assert(std::endian::native == std::endian::little, "checksums are little-endian");

void PutBlock(std::string_view bytes, std::string& out) {
  const uint32_t crc = Crc32c(bytes);
  std::array<char, kSum> sum{};
  std::memcpy(sum.data(), &crc, sum.size());
  out.append(sum.data(), sum.size()).append(bytes);
}

// The bytes of a block; nothing when they are not what its checksum says.
std::string_view CheckedBytes(std::string_view block) {
  if (block.size() <= kSum) return {};
  uint32_t crc = 0;
  std::memcpy(&crc, block.data(), kSum);
  block.remove_prefix(kSum);
  return crc == Crc32c(block) ? block : std::string_view();
}

}  // namespace

std::shared_ptr<Uploads::Upload> Uploads::Find(const UploadId& id) {
  const absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  return found == uploads_.end() ? nullptr : found->second;
}

std::shared_ptr<Uploads::Upload> Uploads::FindOrAdd(const SessionKey& key, const UploadId& id) {
  const absl::MutexLock lock(&mutex_);
  std::shared_ptr<Upload>& upload = uploads_[id];
  if (!upload) upload = std::make_shared<Upload>(key);
  return upload;
}

void Uploads::Forget(const UploadId& id) {
  const absl::MutexLock lock(&mutex_);
  uploads_.erase(id);
}

absl::Status Uploads::Stage(const SessionKey& key, const UploadId& id, uint64_t offset,
                            std::string_view bytes) {
  const std::shared_ptr<Upload> upload = FindOrAdd(key, id);
  const absl::MutexLock lock(&upload->mutex);
  if (upload->key != key || offset > upload->bytes) {
    return InvalidField("offset", "must be where the upload ends").With("expected", upload->bytes);
  }
  upload->touched = clock_.SinceBoot();
  const uint64_t there = upload->bytes - offset;
  if (there >= bytes.size()) return absl::OkStatus();
  return Write(id, bytes.substr(there), *upload);
}

// The last block is written again as it grows, until it is full.
absl::Status Uploads::Write(const UploadId& id, std::string_view bytes, Upload& upload) {
  if (!upload.file) {
    ASSIGN_OR_RETURN(upload.file, files_.Open(StagedPath(id), OpenMode::kCreate));
  }
  const uint64_t at = (upload.bytes - upload.tail.size()) / kBlock * kWhole;
  const std::string rest = upload.tail + std::string(bytes);
  std::string blocks;
  blocks.reserve(rest.size() + (rest.size() / kBlock + 1) * kSum);
  for (size_t from = 0; from < rest.size(); from += kBlock) {
    PutBlock(std::string_view(rest).substr(from, kBlock), blocks);
  }
  // Without space the chunk may be sent again: it is written again from where its block begins.
  absl::Status written = upload.file->Write(at, blocks);
  if (written.ok()) written = upload.file->Sync();
  if (!written.ok()) return IsShortage(written) ? AfterWriting(written) : written;
  upload.tail = rest.substr(rest.size() / kBlock * kBlock);
  upload.bytes += bytes.size();
  upload.sum.Add(bytes);
  return absl::OkStatus();
}

absl::Status Uploads::Drop(const SessionKey& key, const UploadId& id) {
  const std::shared_ptr<Upload> upload = Find(id);
  if (!upload || upload->key != key) return absl::OkStatus();
  const absl::MutexLock lock(&upload->mutex);
  RETURN_IF_ERROR(RemoveTree(files_, StagedPath(id)));
  Forget(id);
  return absl::OkStatus();
}

bool Uploads::Holds(const SessionKey& key, const UploadLink& link) {
  const std::shared_ptr<Upload> upload = Find(link.id);
  if (!upload || upload->key != key) return false;
  const absl::MutexLock lock(&upload->mutex);
  return upload->bytes == link.bytes && upload->sum.Sum() == link.sha256;
}

absl::Status Uploads::TakeOver(const UploadId& id, const std::string& path) {
  RETURN_IF_ERROR(files_.Rename(StagedPath(id), path));
  Forget(id);
  return absl::OkStatus();
}

absl::Status Uploads::Sweep(absl::Duration quiet) {
  const absl::Duration since = clock_.SinceBoot() - quiet;
  std::vector<std::pair<UploadId, std::shared_ptr<Upload>>> all;
  {
    const absl::MutexLock lock(&mutex_);
    all.assign(uploads_.begin(), uploads_.end());
  }
  for (const auto& [id, upload] : all) {
    {
      const absl::MutexLock lock(&upload->mutex);
      if (upload->touched > since) continue;
    }
    RETURN_IF_ERROR(Drop(upload->key, id));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadBlocks(File& file, uint64_t offset, size_t count) {
  if (count == 0) return std::string();
  const uint64_t first = offset / kBlock;
  const uint64_t last = (offset + count - 1) / kBlock;
  ASSIGN_OR_RETURN(const std::string blocks,
                   file.Read(first * kWhole, (last - first + 1) * kWhole));
  std::string bytes;
  for (size_t at = 0; at < blocks.size(); at += kWhole) {
    const std::string_view block = CheckedBytes(std::string_view(blocks).substr(at, kWhole));
    if (block.empty()) return absl::DataLossError("a block of an upload is not what was staged");
    bytes.append(block);
  }
  const uint64_t skip = offset - first * kBlock;
  if (bytes.size() < skip + count) return absl::DataLossError("an upload is too short");
  return bytes.substr(skip, count);
}

}  // namespace holdfast::fs
