#include "store-fs/root.h"

#include "session/refusal.h"
#include "session/status_macros.h"

#include "nlohmann/json.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

using Json = nlohmann::json;

constexpr char kStoreFile[] = "STORE";
constexpr char kLockFile[] = "lock";
constexpr int kFormat = 1;
constexpr size_t kStoreFileMost = 4096;
constexpr uint32_t kOthers = 077;

absl::Status Refused(const std::string& root, const std::string& why) {
  return StoreUnavailable("cannot serve " + root + ": " + why, Fate::kNoEffect);
}

absl::Status Failed(const std::string& root, const absl::Status& status) {
  return Refused(root, std::string(status.message()));
}

bool IsNetworkFileSystem(const std::string& root) {
  // From linux/magic.h and the kernels' own headers: NFS, SMB, SMB2, CIFS, CODA, 9P, AFS, CEPH,
  // FUSE hosts.
  constexpr std::array<uint64_t, 8> kMagics = {0x6969,     0x517b,     0xfe534d42, 0xff534d42,
                                               0x73757245, 0x01021997, 0x5346414f, 0x00c36400};
  struct statfs info {};
  if (statfs(root.c_str(), &info) != 0) return false;
  const auto type = static_cast<uint32_t>(info.f_type);
  return std::ranges::find(kMagics, type) != kMagics.end();
}

absl::Status MakeRoot(const std::string& root) {
  std::error_code error;
  const std::filesystem::path path(root);
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return Refused(root, error.message());
  if (mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) {
    return Refused(root, std::generic_category().message(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<FileInfo> CheckRoot(const RootOptions& options, Files& files) {
  absl::StatusOr<FileInfo> info = files.Stat(".");
  if (!info.ok()) return Failed(options.path, info.status());
  if (info->owner != geteuid()) return Refused(options.path, "it belongs to another user");
  if ((info->mode & kOthers) != 0) {
    return Refused(options.path, "others can reach it: make it 0700 with chmod");
  }
  if (!options.allow_network_file_system && IsNetworkFileSystem(options.path)) {
    return Refused(options.path,
                   "it is on a network file system, whose locks and syncs cannot be trusted");
  }
  return info;
}

absl::StatusOr<std::unique_ptr<RootLock>> Lock(const std::string& root) {
  const std::string path = root + "/" + kLockFile;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Refused(root, std::generic_category().message(errno));
  auto lock = std::make_unique<RootLock>(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 32> pid{};
    const ssize_t got = pread(fd, pid.data(), pid.size() - 1, 0);
    return Refused(root, "process " +
                             std::string(pid.data(), got > 0 ? static_cast<size_t>(got) : 0) +
                             " is serving it already");
  }
  // The number is only for the message above; the lock itself is what counts.
  const std::string pid = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
    return Refused(root, std::generic_category().message(errno));
  }
  return lock;
}

absl::Status MakeIfMissing(Files& files, const char* directory) {
  const absl::Status status = files.MakeDirectory(directory);
  return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
}

// Only tmp/ is ever cleaned; making and removing a file proves that the root is writable.
absl::Status PrepareDirectories(Files& files) {
  RETURN_IF_ERROR(MakeIfMissing(files, kTmp));
  RETURN_IF_ERROR(MakeIfMissing(files, kSessions));
  ASSIGN_OR_RETURN(const std::vector<std::string> left, files.List(kTmp));
  for (const std::string& name : left) {
    RETURN_IF_ERROR(RemoveTree(files, std::string(kTmp) + "/" + name));
  }
  RETURN_IF_ERROR(WriteNew(files, "tmp/probe", "writable"));
  RETURN_IF_ERROR(files.RemoveFile("tmp/probe"));
  return files.SyncDirectory(".");
}

// A name in another case must be another file, else two sessions would share a directory.
absl::Status CheckCase(const std::string& root, Files& files) {
  RETURN_IF_ERROR(WriteNew(files, "tmp/case", ""));
  const bool folds = files.Stat("tmp/CASE").ok();
  RETURN_IF_ERROR(files.RemoveFile("tmp/case"));
  if (folds) {
    return Refused(
        root, "its file system ignores case (A and a are one name): move it to one that does not");
  }
  return absl::OkStatus();
}

std::optional<RootRecord> Decode(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto text_at = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  const auto number_at = [&](const char* key) {
    return json.contains(key) && json[key].is_number_integer() ? json[key].get<int64_t>() : -1;
  };
  const auto store = StoreId::Parse(text_at("store_id"));
  if (!store || number_at("format") != kFormat || number_at("incarnation") < 1) return std::nullopt;
  return RootRecord{.store = *store,
                    .incarnation = Incarnation(static_cast<uint64_t>(number_at("incarnation"))),
                    .inode = static_cast<uint64_t>(number_at("inode")),
                    .birth_ns = number_at("birth_ns"),
                    .durability = text_at("durability"),
                    .clean = json.contains("clean") && json["clean"] == true};
}

bool SamePlace(const RootRecord& record, const FileInfo& info) {
  return record.inode == info.inode && record.birth_ns == info.birth_ns;
}

absl::StatusOr<RootRecord> LoadOrMake(const RootOptions& options, Files& files,
                                      const FileInfo& info, Random& random) {
  const absl::StatusOr<std::string> text = ReadWhole(files, kStoreFile, kStoreFileMost);
  if (absl::IsNotFound(text.status())) {
    ASSIGN_OR_RETURN(const std::vector<std::string> sessions, files.List(kSessions));
    if (!sessions.empty()) {
      return Refused(options.path, "it holds sessions but no STORE file: it is damaged");
    }
    return RootRecord{.store = *StoreId::Parse(UuidText(random.Bytes(16), 4)),
                      .incarnation = Incarnation(1),
                      .inode = info.inode,
                      .birth_ns = info.birth_ns,
                      .durability = options.durability,
                      .clean = true};
  }
  if (!text.ok()) return text.status();
  std::optional<RootRecord> record = Decode(*text);
  if (!record) return Refused(options.path, "its STORE file is damaged or of another version");
  if (!SamePlace(*record, info)) {
    if (!options.adopt) {
      return Refused(
          options.path,
          "it was copied or restored from a backup; if this copy alone will be used from "
          "now on, run: holdfastd store adopt");
    }
    record->incarnation = record->incarnation.Next();
    record->inode = info.inode;
    record->birth_ns = info.birth_ns;
  }
  return *std::move(record);
}

absl::StatusOr<Root> Assemble(const RootOptions& options, std::unique_ptr<RootLock> lock,
                              std::unique_ptr<Files> files, Random& random) {
  ASSIGN_OR_RETURN(const FileInfo info, CheckRoot(options, *files));
  RETURN_IF_ERROR(PrepareDirectories(*files));
  RETURN_IF_ERROR(CheckCase(options.path, *files));
  Root root{.lock = std::move(lock), .files = std::move(files)};
  ASSIGN_OR_RETURN(root.record, LoadOrMake(options, *root.files, info, random));
  root.was_clean = root.record.clean;
  root.unsynced = root.record.durability == kByInterval && !root.was_clean;
  root.record.clean = false;
  if (!root.unsynced) root.record.durability = options.durability;
  RETURN_IF_ERROR(WriteRootRecord(*root.files, root.record));
  return root;
}

}  // namespace

RootLock::~RootLock() { close(fd_); }

absl::StatusOr<Root> OpenRoot(const RootOptions& options, Random& random) {
  RETURN_IF_ERROR(MakeRoot(options.path));
  absl::StatusOr<std::unique_ptr<Files>> files = OpenFiles(options.path);
  if (!files.ok()) return Failed(options.path, files.status());
  if (options.wrap_files) files = options.wrap_files(*std::move(files));
  RETURN_IF_ERROR(CheckRoot(options, **files).status());
  ASSIGN_OR_RETURN(std::unique_ptr<RootLock> lock, Lock(options.path));
  absl::StatusOr<Root> root = Assemble(options, std::move(lock), *std::move(files), random);
  const bool explained = root.ok() || Is(root.status(), Reason::kStoreUnavailable);
  return explained ? std::move(root) : Failed(options.path, root.status());
}

absl::Status ReplaceRootFile(Files& files, const std::string& name, std::string_view bytes) {
  const std::string fresh = std::string(kTmp) + "/" + name;
  RETURN_IF_ERROR(RemoveTree(files, fresh));
  RETURN_IF_ERROR(WriteNew(files, fresh, bytes));
  RETURN_IF_ERROR(files.Rename(fresh, name));
  return files.SyncDirectory(".");
}

absl::Status WriteRootRecord(Files& files, const RootRecord& record) {
  const Json json = {{"format", kFormat},
                     {"store_id", record.store.value()},
                     {"incarnation", record.incarnation.value()},
                     {"inode", record.inode},
                     {"birth_ns", record.birth_ns},
                     {"durability", record.durability},
                     {"clean", record.clean}};
  return ReplaceRootFile(files, kStoreFile, json.dump(2) + "\n");
}

}  // namespace holdfast::fs
