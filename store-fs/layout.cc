#include "store-fs/layout.h"

#include "store-fs/recovery.h"

#include <array>
#include <cstddef>

namespace holdfast::fs {
namespace {

std::string Relative(FileKind kind, uint64_t file) {
  static constexpr std::array<const char*, 5> kNames = {"state/head.", "state/log.", "state/index.",
                                                        "state/run.", "state/items."};
  return kNames.at(static_cast<size_t>(kind)) + std::to_string(file);
}

std::string RelativeOf(const UploadId& upload) { return "state/upload." + upload.value(); }

}  // namespace

std::string PathOf(const SessionKey& key, FileKind kind, uint64_t file) {
  return DirectoryOf(key) + "/" + Relative(kind, file);
}

std::string UploadPathOf(const SessionKey& key, const UploadId& upload) {
  return DirectoryOf(key) + "/" + RelativeOf(upload);
}

std::set<std::string> NamedFiles(const SessionState& state, uint64_t file) {
  std::set<std::string> names;
  if (file > 0) names.insert(Relative(FileKind::kHead, file));
  for (const SealedLog& sealed : state.sealed) {
    names.insert(Relative(FileKind::kLog, sealed.file));
    names.insert(Relative(FileKind::kIndex, sealed.file));
  }
  for (const auto& run : state.slots.runs()) {
    names.insert(Relative(FileKind::kRun, run->info().file));
  }
  for (const auto& run : state.items.runs()) {
    names.insert(Relative(FileKind::kItemsRun, run->info().file));
  }
  for (const LinkedUpload& upload : state.uploads) names.insert(RelativeOf(upload.id));
  return names;
}

}  // namespace holdfast::fs
