#include "tests/support/breaking_files.h"

#include "platform/status_macros.h"
#include "tests/support/pieces.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {
namespace {

constexpr uint64_t kSector = 512;

class BreakingFile final : public fs::File {
 public:
  BreakingFile(std::unique_ptr<fs::File> file, const FileFault& fault, std::string path)
      : file_(std::move(file)), fault_(fault), path_(std::move(path)) {}

  absl::Status WritePieces(uint64_t offset, absl::Span<const std::string_view> pieces) override {
    size_t size = 0;
    for (const std::string_view piece : pieces) size += piece.size();
    const absl::Status fault = fault_({"write", path_, size});
    if (fault.ok()) return file_->WritePieces(offset, pieces);
    // Half of it has moved, up to the edge of a sector, as a real failure may leave it.
    const std::string bytes = Joined(pieces);
    const uint64_t edge = (offset + size / 2) / kSector * kSector;
    if (edge > offset) file_->Write(offset, bytes.substr(0, edge - offset)).IgnoreError();
    return fault;
  }
  absl::StatusOr<std::string> Read(uint64_t offset, size_t count) override {
    RETURN_IF_ERROR(fault_({"read", path_}));
    return file_->Read(offset, count);
  }
  absl::Status Sync() override {
    RETURN_IF_ERROR(fault_({"sync", path_}));
    return file_->Sync();
  }
  absl::Status Allocate(uint64_t offset, uint64_t size) override {
    RETURN_IF_ERROR(fault_({"allocate", path_}));
    return file_->Allocate(offset, size);
  }
  absl::Status Truncate(uint64_t size) override {
    RETURN_IF_ERROR(fault_({"truncate", path_}));
    return file_->Truncate(size);
  }
  absl::StatusOr<uint64_t> Size() override {
    RETURN_IF_ERROR(fault_({"size", path_}));
    return file_->Size();
  }
  absl::StatusOr<uint64_t> Inode() override {
    RETURN_IF_ERROR(fault_({"inode", path_}));
    return file_->Inode();
  }

 private:
  std::unique_ptr<fs::File> file_;
  const FileFault& fault_;
  const std::string path_;
};

class BreakingFiles final : public fs::Files {
 public:
  BreakingFiles(std::unique_ptr<fs::Files> files, FileFault fault)
      : files_(std::move(files)), fault_(std::move(fault)) {}

  absl::StatusOr<std::unique_ptr<fs::File>> Open(const std::string& path,
                                                 fs::OpenMode mode) override {
    RETURN_IF_ERROR(fault_({mode == fs::OpenMode::kCreate ? "create" : "open", path}));
    ASSIGN_OR_RETURN(std::unique_ptr<fs::File> file, files_->Open(path, mode));
    return std::make_unique<BreakingFile>(std::move(file), fault_, path);
  }
  absl::Status MakeDirectory(const std::string& path) override {
    RETURN_IF_ERROR(fault_({"make directory", path}));
    return files_->MakeDirectory(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(fault_({"rename", to}));
    return files_->Rename(from, to);
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(fault_({"link", to}));
    return files_->Link(from, to);
  }
  absl::Status RemoveFile(const std::string& path) override {
    RETURN_IF_ERROR(fault_({"remove", path}));
    return files_->RemoveFile(path);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    RETURN_IF_ERROR(fault_({"remove directory", path}));
    return files_->RemoveDirectory(path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    RETURN_IF_ERROR(fault_({"sync directory", path}));
    return files_->SyncDirectory(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override {
    RETURN_IF_ERROR(fault_({"list", path}));
    return files_->List(path);
  }
  absl::StatusOr<fs::FileInfo> Stat(const std::string& path) override {
    RETURN_IF_ERROR(fault_({"stat", path}));
    return files_->Stat(path);
  }

 private:
  std::unique_ptr<fs::Files> files_;
  const FileFault fault_;
};

}  // namespace

fs::FilesWrapper BreakBy(FileFault fault) {
  return [fault = std::move(fault)](std::unique_ptr<fs::Files> files) {
    return std::make_unique<BreakingFiles>(std::move(files), fault);
  };
}

fs::FilesWrapper BreakBy(MemoryDisk& disk, FileFault fault, MissingSyncs missing) {
  return [&disk, fault = std::move(fault), missing](std::unique_ptr<fs::Files> /*files*/) {
    return std::make_unique<BreakingFiles>(disk.Open(missing), fault);
  };
}

}  // namespace holdfast::test
