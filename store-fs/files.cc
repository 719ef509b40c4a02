#include "store-fs/files.h"

#include "session/status_macros.h"

#include <string>

namespace holdfast::fs {

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
