#include "store-fs/layout.h"

#include "store-fs/recovery.h"

#include <array>
#include <cstddef>

namespace holdfast::fs {
namespace {

std::string Relative(FileKind kind) {
  static constexpr std::array<const char*, 7> kNames = {
      "state/head.",     "state/messages.", "state/events.", "state/entries.",
      "state/requests.", "state/slots.",    "audit/records."};
  return kNames.at(static_cast<size_t>(kind));
}

std::string RelativeOf(const UploadId& upload) { return "state/upload." + upload.value(); }

std::string MessagesOf(Generation generation) {
  const std::string first = Relative(FileKind::kMessages);
  return generation == Generation(1) ? first : first + std::to_string(generation.value()) + "-";
}

void AddLog(const NumberedLog& log, const std::string& prefix, std::set<std::string>& names) {
  for (const SegmentInfo& info : log.segments) names.insert(prefix + std::to_string(info.file));
}

}  // namespace

std::string PrefixOf(const SessionKey& key, FileKind kind) {
  return DirectoryOf(key) + "/" + Relative(kind);
}

std::string PathOf(const SessionKey& key, FileKind kind, uint64_t file) {
  return PrefixOf(key, kind) + std::to_string(file);
}

std::string MessagesPrefixOf(const SessionKey& key, Generation generation) {
  return DirectoryOf(key) + "/" + MessagesOf(generation);
}

std::string UploadPathOf(const SessionKey& key, const UploadId& upload) {
  return DirectoryOf(key) + "/" + RelativeOf(upload);
}

std::set<std::string> NamedFiles(const Contents& contents, uint64_t file) {
  std::set<std::string> names;
  if (file > 0) names.insert(Relative(FileKind::kHead) + std::to_string(file));
  AddLog(contents.messages, MessagesOf(contents.head.generation), names);
  for (const FormerHistory& old : contents.former) {
    AddLog(old.messages, MessagesOf(old.generation), names);
  }
  AddLog(contents.events, Relative(FileKind::kEvents), names);
  AddLog(contents.entries, Relative(FileKind::kEntries), names);
  AddLog(contents.request_log, Relative(FileKind::kRequests), names);
  AddLog(contents.audits, Relative(FileKind::kAudit), names);
  for (const LinkedUpload& upload : contents.uploads) names.insert(RelativeOf(upload.id));
  for (const SlotVersion& version : contents.slots) {
    if (version.where.file > 0) {
      names.insert(Relative(FileKind::kSlots) + std::to_string(version.where.file));
    }
  }
  return names;
}

}  // namespace holdfast::fs
