#include "store-fs/log_bytes.h"

#include <cstddef>

namespace holdfast::fs {

void LogBytes::Add(uint64_t file, uint64_t bytes) {
  if (bytes > 0) bytes_[file] += bytes;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as Add
bool LogBytes::TakeOff(uint64_t file, uint64_t bytes) {
  const auto found = bytes_.find(file);
  const uint64_t there = found == bytes_.end() ? 0 : found->second;
  if (bytes < there) {
    found->second -= bytes;
  } else if (found != bytes_.end()) {
    bytes_.erase(found);
  }
  return bytes <= there;
}

void LogBytes::Move(const std::set<uint64_t>& sources, uint64_t file) {
  uint64_t moved = 0;
  for (const uint64_t source : sources) {
    const auto found = bytes_.find(source);
    if (found == bytes_.end()) continue;
    moved += found->second;
    bytes_.erase(found);
  }
  Add(file, moved);
}

uint64_t LogBytes::In(uint64_t file) const {
  const auto found = bytes_.find(file);
  return found == bytes_.end() ? 0 : found->second;
}

void LogBytes::AddTo(std::map<uint64_t, uint64_t>& sums) const {
  for (const auto& [file, bytes] : bytes_) sums[file] += bytes;
}

void LogBytes::Put(Encoder& out) const {
  out.Number(bytes_.size());
  for (const auto& [file, bytes] : bytes_) out.Number(file).Number(bytes);
}

LogBytes LogBytes::Read(Decoder& in) {
  LogBytes read;
  for (size_t left = in.Count(); left > 0; --left) {
    const uint64_t file = in.Number();
    read.bytes_[file] = in.Number();
  }
  return read;
}

}  // namespace holdfast::fs
