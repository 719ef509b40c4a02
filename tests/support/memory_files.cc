#include "tests/support/memory_files.h"

#include "platform/digest.h"
#include "platform/status_macros.h"
#include "tests/support/pieces.h"

#include "absl/types/span.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace holdfast::test {
namespace {

using Node = std::shared_ptr<MemoryNode>;
using Before = std::function<absl::Status(const std::string&, const std::string&)>;

constexpr size_t kDiskSector = 512;

struct Shared {
  std::shared_ptr<absl::Mutex> mutex;
  Node root;
  Before before;
  MissingSyncs missing;
  uint64_t next_inode = 1'000;
};

uint64_t LastInode(const MemoryNode& node) {
  uint64_t last = node.inode;
  for (const auto& [name, child] : node.names) last = std::max(last, LastInode(*child));
  return last;
}

class MemoryFile final : public fs::File {
 public:
  MemoryFile(std::shared_ptr<Shared> shared, Node node, std::string path)
      : shared_(std::move(shared)), node_(std::move(node)), path_(std::move(path)) {}

  absl::Status WritePieces(uint64_t offset, absl::Span<const std::string_view> pieces) override {
    RETURN_IF_ERROR(shared_->before("write", path_));
    const std::string bytes = Joined(pieces);
    const absl::MutexLock lock(shared_->mutex.get());
    std::string& stored = node_->bytes;
    if (stored.size() < offset + bytes.size()) stored.resize(offset + bytes.size(), '\0');
    std::ranges::copy(bytes, stored.begin() + static_cast<std::ptrdiff_t>(offset));
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Read(uint64_t offset, size_t count) override {
    const absl::MutexLock lock(shared_->mutex.get());
    return offset < node_->bytes.size() ? node_->bytes.substr(offset, count) : std::string();
  }
  absl::Status Sync() override {
    RETURN_IF_ERROR(shared_->before("sync", path_));
    const absl::MutexLock lock(shared_->mutex.get());
    if (!shared_->missing.of_files) node_->durable_bytes = node_->bytes;
    return absl::OkStatus();
  }
  absl::Status Allocate(uint64_t offset, uint64_t size) override {
    RETURN_IF_ERROR(shared_->before("allocate", path_));
    const absl::MutexLock lock(shared_->mutex.get());
    if (node_->bytes.size() < offset + size) node_->bytes.resize(offset + size, '\0');
    return absl::OkStatus();
  }
  absl::Status Truncate(uint64_t size) override {
    RETURN_IF_ERROR(shared_->before("truncate", path_));
    const absl::MutexLock lock(shared_->mutex.get());
    node_->bytes.resize(size, '\0');
    return absl::OkStatus();
  }
  absl::StatusOr<uint64_t> Size() override {
    const absl::MutexLock lock(shared_->mutex.get());
    return node_->bytes.size();
  }
  absl::StatusOr<uint64_t> Inode() override { return node_->inode; }

 private:
  std::shared_ptr<Shared> shared_;
  Node node_;
  const std::string path_;
};

class MemoryFiles final : public fs::Files {
 public:
  explicit MemoryFiles(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  absl::StatusOr<std::unique_ptr<fs::File>> Open(const std::string& path,
                                                 fs::OpenMode mode) override {
    const bool create = mode == fs::OpenMode::kCreate;
    if (create) RETURN_IF_ERROR(shared_->before("create", path));
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto place, Find(path));
    Node node = place.second;
    if (create) {
      if (node != nullptr) return absl::AlreadyExistsError(path);
      node = NewNode(/*directory=*/false);
      place.first->names[LastName(path)] = node;
    }
    if (node == nullptr) return absl::NotFoundError(path);
    if (node->directory) return absl::FailedPreconditionError(path);
    return std::make_unique<MemoryFile>(shared_, node, path);
  }

  absl::Status MakeDirectory(const std::string& path) override {
    RETURN_IF_ERROR(shared_->before("make directory", path));
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto place, Find(path));
    if (place.second != nullptr) return absl::AlreadyExistsError(path);
    place.first->names[LastName(path)] = NewNode(/*directory=*/true);
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(shared_->before("rename", to));
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto source, Find(from));
    ASSIGN_OR_RETURN(const auto target, Find(to));
    if (source.second == nullptr) return absl::NotFoundError(from);
    if (source.second->directory && target.second != nullptr) return absl::AlreadyExistsError(to);
    source.first->names.erase(LastName(from));
    target.first->names[LastName(to)] = source.second;
    return absl::OkStatus();
  }

  absl::Status Link(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(shared_->before("link", to));
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto source, Find(from));
    ASSIGN_OR_RETURN(const auto target, Find(to));
    if (source.second == nullptr) return absl::NotFoundError(from);
    if (target.second != nullptr) return absl::AlreadyExistsError(to);
    target.first->names[LastName(to)] = source.second;
    return absl::OkStatus();
  }

  absl::Status RemoveFile(const std::string& path) override { return Remove(path); }
  absl::Status RemoveDirectory(const std::string& path) override { return Remove(path); }

  absl::Status SyncDirectory(const std::string& path) override {
    RETURN_IF_ERROR(shared_->before("sync directory", path));
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto place, Find(path));
    if (place.second == nullptr) return absl::NotFoundError(path);
    const MissingSyncs& missing = shared_->missing;
    const bool forgotten = missing.of_directories && path.ends_with(missing.directories_ending);
    if (!forgotten) place.second->durable_names = place.second->names;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override {
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto place, Find(path));
    if (place.second == nullptr) return absl::NotFoundError(path);
    std::vector<std::string> names;
    for (const auto& [name, child] : place.second->names) names.push_back(name);
    return names;
  }

  absl::StatusOr<fs::FileInfo> Stat(const std::string& path) override {
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto place, Find(path));
    if (place.second == nullptr) return absl::NotFoundError(path);
    return fs::FileInfo{.directory = place.second->directory,
                        .link = false,
                        .inode = place.second->inode,
                        .birth_ns = 1,
                        .mode = 0700,
                        .owner = geteuid()};
  }

 private:
  static std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  Node NewNode(bool directory) const {
    auto node = std::make_shared<MemoryNode>();
    node->inode = ++shared_->next_inode;
    node->directory = directory;
    return node;
  }

  // The directory that holds the last name, and what is behind it (null when nothing is).
  absl::StatusOr<std::pair<Node, Node>> Find(const std::string& path) const {
    if (path == ".") return std::pair(shared_->root, shared_->root);
    Node directory = shared_->root;
    size_t start = 0;
    for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', start)) {
      const auto found = directory->names.find(path.substr(start, slash - start));
      if (found == directory->names.end()) return absl::NotFoundError(path);
      directory = found->second;
      start = slash + 1;
    }
    const auto found = directory->names.find(path.substr(start));
    return std::pair(directory, found == directory->names.end() ? nullptr : found->second);
  }

  absl::Status Remove(const std::string& path) {
    RETURN_IF_ERROR(shared_->before("remove", path));
    const absl::MutexLock lock(shared_->mutex.get());
    ASSIGN_OR_RETURN(const auto place, Find(path));
    if (place.second == nullptr) return absl::NotFoundError(path);
    if (!place.second->names.empty()) return absl::AlreadyExistsError(path);
    place.first->names.erase(LastName(path));
    return absl::OkStatus();
  }

  std::shared_ptr<Shared> shared_;
};

// `durable` with some of the sectors in which `bytes` differs taken over from it.
std::string Mix(const std::string& bytes, const std::string& durable, CutKind cut) {
  std::string mixed = durable;
  mixed.resize(bytes.size(), '\0');  // a size that grew survives with zeros behind it
  size_t changed = 0;
  for (size_t at = 0; at < bytes.size(); at += kDiskSector) {
    const std::string_view now = std::string_view(bytes).substr(at, kDiskSector);
    if (std::string_view(mixed).substr(at, kDiskSector) == now) continue;
    const bool survives = cut == CutKind::kTorn ? changed % 2 == 0 : changed > 0;
    if (survives) mixed.replace(at, now.size(), now);
    ++changed;
  }
  return mixed;
}

std::string BytesAfter(const MemoryNode& node, CutKind cut) {
  switch (cut) {
    case CutKind::kKilled:
    case CutKind::kBytesOnly:
      return node.bytes;
    case CutKind::kNothing:
    case CutKind::kNamesOnly:
      return node.durable_bytes;
    case CutKind::kTorn:
    case CutKind::kZeroHeaded:
      return Mix(node.bytes, node.durable_bytes, cut);
  }
  return node.bytes;
}

// Copies what is left of `node`; a file keeps its identity behind several names.
Node CopyAfter(const Node& node, CutKind cut, std::map<uint64_t, Node>& copied) {
  Node& copy = copied[node->inode];
  if (copy != nullptr) return copy;
  copy = std::make_shared<MemoryNode>();
  const Node result = copy;
  result->inode = node->inode;
  result->directory = node->directory;
  result->bytes = BytesAfter(*node, cut);
  result->durable_bytes = result->bytes;
  const bool lost = cut == CutKind::kNothing || cut == CutKind::kBytesOnly;
  for (const auto& [name, child] : lost ? node->durable_names : node->names) {
    result->names[name] = CopyAfter(child, cut, copied);
  }
  result->durable_names = result->names;
  return result;
}

void Describe(const MemoryNode& node, const std::string& path, std::string& out) {
  out += path + '\n' + node.bytes + '\n';
  for (const auto& [name, child] : node.names) Describe(*child, path + "/" + name, out);
}

void CopyNode(const MemoryNode& node, const std::filesystem::path& path) {
  if (!node.directory) {
    std::ofstream(path, std::ios::binary) << node.bytes;
    return;
  }
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  for (const auto& [name, child] : node.names) CopyNode(*child, path / name);
}

Node FindNode(Node node, const std::string& path) {
  size_t start = 0;
  while (node != nullptr && start <= path.size()) {
    const size_t slash = std::min(path.find('/', start), path.size());
    const auto found = node->names.find(path.substr(start, slash - start));
    node = found == node->names.end() ? nullptr : found->second;
    start = slash + 1;
  }
  return node;
}

}  // namespace

MemoryDisk::MemoryDisk()
    : mutex_(std::make_shared<absl::Mutex>()), root_(std::make_shared<MemoryNode>()) {
  root_->inode = 1;
  root_->directory = true;
}

std::unique_ptr<fs::Files> MemoryDisk::Open(
    std::function<absl::Status(const std::string&, const std::string&)> before,
    MissingSyncs missing) {
  auto shared = std::make_shared<Shared>();
  shared->mutex = mutex_;
  shared->root = root_;
  shared->before = std::move(before);
  shared->missing = missing;
  shared->next_inode += LastInode(*root_);
  return std::make_unique<MemoryFiles>(std::move(shared));
}

std::unique_ptr<fs::Files> MemoryDisk::Open(MissingSyncs missing) {
  return Open([](const std::string&, const std::string&) { return absl::OkStatus(); }, missing);
}

fs::FilesWrapper OnDisk(MemoryDisk& disk) {
  return [&disk](std::unique_ptr<fs::Files> /*files*/) { return disk.Open(); };
}

MemoryDisk MemoryDisk::After(CutKind cut) const {
  const absl::MutexLock lock(mutex_.get());
  MemoryDisk after;
  std::map<uint64_t, Node> copied;
  after.root_ = CopyAfter(root_, cut, copied);
  return after;
}

std::string MemoryDisk::Digest() const {
  const absl::MutexLock lock(mutex_.get());
  std::string all;
  Describe(*root_, "", all);
  const auto digest = Sha256(all);
  return std::string(View(digest));
}

std::string MemoryDisk::Read(const std::string& path) const {
  const absl::MutexLock lock(mutex_.get());
  const Node node = FindNode(root_, path);
  return node == nullptr ? "" : node->bytes;
}

void MemoryDisk::CopyTo(const std::filesystem::path& directory) const {
  const absl::MutexLock lock(mutex_.get());
  CopyNode(*root_, directory);
}

void MemoryDisk::Write(const std::string& path, const std::string& bytes) {
  const absl::MutexLock lock(mutex_.get());
  const Node node = FindNode(root_, path);
  if (node == nullptr) return;
  node->bytes = bytes;
  node->durable_bytes = bytes;
}

}  // namespace holdfast::test
