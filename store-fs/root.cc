#include "store-fs/root.h"

#include "platform/digest.h"
#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-fs/bounds.h"
#include "store-fs/fail_stop.h"
#include "store-fs/write_ahead_files.h"

#include "absl/strings/escaping.h"
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
constexpr int64_t kRootFormat = 9;
constexpr char kRootChecksum[] = "checksum";
constexpr uint32_t kOthers = 077;

absl::Status Refused(const std::string& root, const std::string& why) {
  return StoreUnavailable("cannot serve " + root + ": " + why, Fate::kNoEffect);
}

absl::Status Failed(const std::string& root, const absl::Status& status) {
  return Refused(root, std::string(status.message()));
}

absl::Status RefusedFormat(const std::string& root, int64_t format) {
  return Refused(root, "STORE says that its files have format " + std::to_string(format) +
                           ", and this version serves format " + std::to_string(kRootFormat) +
                           ": serve them with the version that wrote them, or name an empty "
                           "directory");
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
  const bool written = pwrite(fd, pid.data(), pid.size(), 0) >= 0 &&
                       ftruncate(fd, static_cast<off_t>(pid.size())) == 0;
  if (!written && errno != ENOSPC && errno != EDQUOT) {
    return Refused(root, std::generic_category().message(errno));
  }
  return lock;
}

absl::Status MakeIfMissing(Files& files, const char* directory) {
  const absl::Status status = files.MakeDirectory(directory);
  return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
}

// Only tmp/ is ever cleaned.
absl::Status PrepareDirectories(Files& files) {
  RETURN_IF_ERROR(MakeIfMissing(files, kTmp));
  RETURN_IF_ERROR(MakeIfMissing(files, kSessions));
  ASSIGN_OR_RETURN(const std::vector<std::string> left, files.List(kTmp));
  for (const std::string& name : left) {
    RETURN_IF_ERROR(RemoveTree(files, std::string(kTmp) + "/" + name));
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(Files& files) {
  RETURN_IF_ERROR(RemoveTree(files, "tmp/probe"));
  RETURN_IF_ERROR(WriteNew(files, "tmp/probe", "writable"));
  RETURN_IF_ERROR(files.RemoveFile("tmp/probe"));
  return files.SyncDirectory(".");
}

// A name in another case must be another file, else two sessions would share a directory.
absl::Status CheckCase(const std::string& root, Files& files) {
  RETURN_IF_ERROR(RemoveTree(files, "tmp/case"));
  RETURN_IF_ERROR(WriteNew(files, "tmp/case", ""));
  const bool folds = files.Stat("tmp/CASE").ok();
  RETURN_IF_ERROR(files.RemoveFile("tmp/case"));
  if (folds) {
    return Refused(
        root, "its file system ignores case (A and a are one name): move it to one that does not");
  }
  return absl::OkStatus();
}

std::string RenderRoot(const Json& json) { return json.dump(2) + "\n"; }

std::string RootChecksum(Json json) {
  json[kRootChecksum] = "";
  return absl::BytesToHexString(std::string(View(Sha256(RenderRoot(json)))));
}

// The format that the file says it has, whatever else is in it.
std::optional<int64_t> FormatOf(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto format = json.find("format");
  if (format == json.end() || !format->is_number_integer()) return std::nullopt;
  return format->get<int64_t>();
}

std::optional<RootRecord> DecodeRoot(const Json& json) {
  const auto checksum = json.find(kRootChecksum);
  if (checksum == json.end() || *checksum != RootChecksum(json)) return std::nullopt;
  const auto text_at = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  const auto number_at = [&](const char* key) {
    return json.contains(key) && json[key].is_number_integer() ? json[key].get<int64_t>() : -1;
  };
  const auto store = StoreId::Parse(text_at("store_id"));
  if (!store || number_at("incarnation") < 1) return std::nullopt;
  const int64_t time = std::max<int64_t>(number_at("time_us"), 0);
  return RootRecord{.store = *store,
                    .incarnation = Incarnation(static_cast<uint64_t>(number_at("incarnation"))),
                    .inode = static_cast<uint64_t>(number_at("inode")),
                    .birth_ns = number_at("birth_ns"),
                    .durability = text_at("durability"),
                    .clean = json.contains("clean") && json["clean"] == true,
                    .time = absl::FromUnixMicros(time)};
}

bool SamePlace(const RootRecord& record, const FileInfo& info) {
  return record.inode == info.inode && record.birth_ns == info.birth_ns;
}

absl::StatusOr<RootRecord> LoadOrMake(const RootOptions& options, Files& files,
                                      const FileInfo& info, bool& moved, Random& random) {
  const absl::StatusOr<std::string> text = ReadWhole(files, kStoreFile, kRootFileBytes);
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
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const std::optional<int64_t> format = FormatOf(json);
  if (format && *format != kRootFormat) return RefusedFormat(options.path, *format);
  std::optional<RootRecord> record = format ? DecodeRoot(json) : std::nullopt;
  if (!record) return Refused(options.path, "its STORE file is damaged");
  moved = !SamePlace(*record, info);
  if (moved) {
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
  Root root{.lock = std::move(lock), .files = std::move(files)};
  ASSIGN_OR_RETURN(root.record, LoadOrMake(options, *root.files, info, root.moved, random));
  root.was_clean = root.record.clean;
  // Before STORE says that the root is served: from then on they must be there.
  if (root.was_clean || options.adopt) {
    RETURN_IF_ERROR(MakeWriteAheadFiles(*root.files, random));
  }
  root.unsynced = root.record.durability == kByInterval && !root.was_clean;
  root.record.clean = false;
  if (!root.unsynced) root.record.durability = options.durability;
  const absl::Status finished = FinishOpening(options, root);
  // A root that was never served holds nothing that could be.
  root.is_put_off = absl::IsResourceExhausted(finished) && root.files->Stat(kStoreFile).ok();
  if (!root.is_put_off) {
    RETURN_IF_ERROR(finished);
  }
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

absl::Status FinishOpening(const RootOptions& options, Root& root) {
  RETURN_IF_ERROR(CheckWritable(*root.files));
  RETURN_IF_ERROR(CheckCase(options.path, *root.files));
  return WriteRootRecord(*root.files, root.record);
}

absl::Status ProbeRoot(Files& files, const std::string& name, size_t bytes) {
  const std::string path = std::string(kTmp) + "/probe." + name;
  absl::Status probed = WriteNew(files, path, std::string(bytes, 'p'));
  const absl::Status removed = RemoveTree(files, path);
  if (probed.ok()) probed = removed;
  if (probed.ok()) return probed;
  if (absl::IsResourceExhausted(probed)) {
    return StorageFull("no space is left for the store: free some");
  }
  if (IsShortage(probed)) return FailStop::Short();
  return StoreUnavailable(
      "nothing can be written in the store's root: look at its owner, mode and mount, and at the "
      "disk",
      Fate::kNoEffect);
}

absl::Status ReplaceRootFile(Files& files, const std::string& name, std::string_view bytes) {
  const std::string fresh = std::string(kTmp) + "/" + name;
  RETURN_IF_ERROR(RemoveTree(files, fresh));
  RETURN_IF_ERROR(WriteNew(files, fresh, bytes));
  RETURN_IF_ERROR(files.Rename(fresh, name));
  return files.SyncDirectory(".");
}

absl::Status WriteRootRecord(Files& files, const RootRecord& record) {
  Json json = {{"format", kRootFormat},
               {"store_id", record.store.value()},
               {"incarnation", record.incarnation.value()},
               {"inode", record.inode},
               {"birth_ns", record.birth_ns},
               {"durability", record.durability},
               {"clean", record.clean},
               {"time_us", absl::ToUnixMicros(record.time)}};
  json[kRootChecksum] = RootChecksum(json);
  return ReplaceRootFile(files, kStoreFile, RenderRoot(json));
}

}  // namespace holdfast::fs
