#include "store-fs/files.h"

#include "platform/status_macros.h"
#include "session/limits.h"

#include <algorithm>
#include <string>

namespace holdfast::fs {
namespace {

constexpr uint64_t kFirstStep = 64 * kKiB;
constexpr uint64_t kMostStep = kMiB;

}  // namespace

absl::Status AfterWriting(const absl::Status& status) {
  return IsLack(status) ? absl::UnavailableError(std::string(status.message())) : status;
}

absl::StatusOr<std::string> ReadWhole(Files& files, const std::string& path, size_t limit) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  if (size > limit) return absl::FailedPreconditionError(path + " is larger than it can be");
  return file->Read(0, size);
}

absl::Status WriteNew(Files& files, const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kCreate));
  RETURN_IF_ERROR(file->Write(0, bytes));
  return file->Sync();
}

absl::Status Preallocate(File& file, uint64_t& allocated, uint64_t needed, uint64_t most) {
  if (needed <= allocated) return absl::OkStatus();
  const uint64_t step = std::clamp(allocated, kFirstStep, kMostStep);
  const uint64_t target = std::min((needed + step - 1) / step * step, most);
  RETURN_IF_ERROR(file.Allocate(allocated, target - allocated));
  allocated = target;
  return absl::OkStatus();
}

absl::Status RemoveTree(Files& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (absl::IsNotFound(info.status())) return absl::OkStatus();
  RETURN_IF_ERROR(info.status());
  if (!info->directory) return files.RemoveFile(path);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(path));
  for (const std::string& name : names) {
    std::string below = path;
    below.append("/").append(name);
    RETURN_IF_ERROR(RemoveTree(files, below));
  }
  return files.RemoveDirectory(path);
}

}  // namespace holdfast::fs
