#include "store-fs/recovery.h"

#include "session/codec/records.h"
#include "session/encoding.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"
#include "store-fs/change_record.h"
#include "store-fs/frame.h"
#include "store-fs/layout.h"
#include "store-fs/root.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

constexpr size_t kJournalMost = size_t{1024} * 1024 * 1024;
constexpr size_t kHeadMost = size_t{256} * 1024 * 1024;

absl::Status Damaged(std::string_view what, std::string_view why) {
  return Refusal(Reason::kDamaged, "a file of this session is not what this store wrote")
      .With("what", what)
      .With("why", why);
}

absl::Status NotFound() {
  return Refusal(Reason::kSessionNotFound, "no session of this id is stored here");
}

// A file that must be there: its absence, or a link in its place, is damage; anything else is the
// disk's.
absl::Status Judge(const absl::Status& status, std::string_view what) {
  if (status.ok()) return status;
  if (absl::IsNotFound(status)) return Damaged(what, "it is missing");
  if (absl::IsFailedPrecondition(status)) return Damaged(what, "something else is in its place");
  return status;
}

absl::StatusOr<Manifest> ReadManifest(Files& files, const SessionKey& key, const StoreId& store) {
  const std::string directory = DirectoryOf(key);
  const absl::StatusOr<FileInfo> info = files.Stat(directory);
  if (absl::IsNotFound(info.status())) return NotFound();
  RETURN_IF_ERROR(Judge(info.status(), "directory"));
  if (!info->directory) return Damaged("directory", "something else is in its place");
  const absl::StatusOr<std::string> text =
      ReadWhole(files, directory + "/" + kManifestFile, kManifestMost);
  RETURN_IF_ERROR(Judge(text.status(), kManifestFile));
  return DecodeManifest(*text, key, store);
}

absl::StatusOr<Contents> ReadHeadFile(Files& files, const SessionKey& key,
                                      const Manifest& manifest) {
  if (manifest.file == 0) return Contents();
  const std::string name = PathOf(key, FileKind::kHead, manifest.file);
  const absl::StatusOr<std::string> bytes = ReadWhole(files, name, kHeadMost);
  RETURN_IF_ERROR(Judge(bytes.status(), "head"));
  if (Sha256(*bytes) != manifest.head_digest) return Damaged("head", "wrong digest");
  std::optional<Contents> contents = DecodeContents(*bytes);
  if (!contents) return Damaged("head", "wrong shape");
  return *std::move(contents);
}

struct Replay {
  uint64_t end = 0;
  uint32_t last_checksum = 0;
  uint64_t cut = 0;  // bytes of an unfinished write behind `end`
};

uint64_t LastNonZero(std::string_view bytes, uint64_t from) {
  const size_t last = bytes.find_last_not_of('\0');
  return last == std::string_view::npos || last < from ? from : last + 1;
}

// What follows the last good frame: nothing, an unfinished write, or damage.
absl::Status JudgeTail(std::string_view bytes, FrameState state, const StoreIdentity& identity,
                       uint64_t salt, Replay& replay) {
  replay.cut = LastNonZero(bytes, replay.end) - replay.end;
  if (identity.unsynced || replay.cut == 0) return absl::OkStatus();
  if (state == FrameState::kDamaged) return Damaged("journal.log", "wrong checksum");
  if (ValidFrameFollows(bytes, replay.end, salt)) {
    return Damaged("journal.log", "a frame in the middle is missing");
  }
  return absl::OkStatus();
}

absl::Status AbsorbFrame(const Frame& frame, uint64_t offset, Contents& contents) {
  const auto changes = DecodeChanges(frame.payload);
  if (!changes) return Damaged("journal.log", "wrong shape");
  for (const StoredChange& change : *changes) {
    contents.Absorb(change, frame.payload, offset + kFrameHeader);
  }
  return absl::OkStatus();
}

absl::StatusOr<Replay> ReplayFrames(std::string_view bytes, const Frame& start,
                                    const StoreIdentity& identity, Contents& contents) {
  Replay replay{.end = start.size, .last_checksum = start.checksum, .cut = 0};
  const uint64_t salt = start.head.salt;
  for (;;) {
    const FrameRead read = ReadFrame(bytes, replay.end, salt);
    if (read.state != FrameState::kValid) {
      RETURN_IF_ERROR(JudgeTail(bytes, read.state, identity, salt, replay));
      return replay;
    }
    const FrameHead& head = read.frame.head;
    if (head.previous != replay.last_checksum || head.type != FrameType::kCommit) {
      return Damaged("journal.log", "a frame is not the next one");
    }
    RETURN_IF_ERROR(AbsorbFrame(read.frame, replay.end, contents));
    if (contents.head.revision != head.revision || contents.head.lease.epoch != head.epoch) {
      return Damaged("journal.log", "a frame contradicts its header");
    }
    replay.end += read.frame.size;
    replay.last_checksum = read.frame.checksum;
  }
}

struct JournalBytes {
  std::unique_ptr<File> file;
  std::string bytes;
  Frame start;
};

absl::StatusOr<JournalBytes> ReadJournal(Files& files, const SessionKey& key) {
  absl::StatusOr<std::unique_ptr<File>> file =
      files.Open(DirectoryOf(key) + "/" + kJournalFile, OpenMode::kWrite);
  RETURN_IF_ERROR(Judge(file.status(), kJournalFile));
  JournalBytes journal{.file = *std::move(file), .bytes = {}, .start = {}};
  ASSIGN_OR_RETURN(const uint64_t size, journal.file->Size());
  if (size > kJournalMost) return Damaged(kJournalFile, "larger than it can be");
  ASSIGN_OR_RETURN(journal.bytes, journal.file->Read(0, size));
  const FrameRead start = ReadFrame(journal.bytes, 0, std::nullopt);
  if (start.state != FrameState::kValid || start.frame.head.type != FrameType::kStart) {
    return Damaged(kJournalFile, "it does not begin as a journal");
  }
  journal.start = start.frame;
  return journal;
}

// Of old request rows it is remembered where they stand; those of the journal are newer.
absl::Status LoadRequests(Files& files, const SessionKey& key, File& journal, Contents& contents) {
  const LogFiles where{
      .files = &files, .journal = &journal, .prefix = PrefixOf(key, FileKind::kRequests)};
  uint64_t next = contents.request_log.first();
  const auto all = std::make_shared<RequestTable>(next);
  while (next < contents.request_log.next) {
    const auto items = ReadLog(where, contents.request_log, next, kPageMost, kPageBytes);
    if (!items.ok()) return Judge(items.status(), "requests");
    for (const std::string& item : *items) {
      const std::optional<RequestRow> row = DecodeRequest(item);
      if (!row) return Damaged("requests", "wrong shape");
      all->AddWritten(row->stamp.id, row->at);
    }
    next += items->size();
  }
  for (const RequestRow& row : contents.requests->unwritten()) all->Add(row);
  contents.requests = all;
  return absl::OkStatus();
}

// The head on the disk, before anything is repaired.
struct Loaded {
  Manifest manifest;
  Contents contents;
  JournalBytes journal;
  Replay replay;
  bool journal_is_covered = false;  // a rotation was cut between its steps 2 and 3
};

absl::StatusOr<Loaded> Load(Files& files, const SessionKey& key, const StoreIdentity& identity) {
  Loaded loaded;
  ASSIGN_OR_RETURN(loaded.manifest, ReadManifest(files, key, identity.store));
  ASSIGN_OR_RETURN(loaded.contents, ReadHeadFile(files, key, loaded.manifest));
  ASSIGN_OR_RETURN(loaded.journal, ReadJournal(files, key));
  loaded.contents.head.incarnation = identity.incarnation;
  const uint64_t salt = loaded.journal.start.head.salt;
  if (salt == loaded.manifest.salt) {
    ASSIGN_OR_RETURN(loaded.replay, ReplayFrames(loaded.journal.bytes, loaded.journal.start,
                                                 identity, loaded.contents));
  } else if (loaded.manifest.file > 0 && salt == loaded.manifest.previous_salt) {
    loaded.journal_is_covered = true;
  } else {
    return Damaged(kJournalFile, "it belongs to another manifest");
  }
  Head& head = loaded.contents.head;
  if (head.snapshots.empty()) return Damaged(kJournalFile, "it has no snapshot");
  if (head.uid != loaded.manifest.uid || head.store != identity.store) {
    return Damaged("head", "it belongs to another session");
  }
  head.tail_bytes_cut = loaded.replay.cut;
  return loaded;
}

// What survived may be in the page cache alone: it is made durable anew before it is served.
absl::StatusOr<Journal> Adopt(const Loaded& loaded, std::unique_ptr<File> file) {
  Journal journal;
  journal.file = std::move(file);
  journal.end = loaded.replay.end;
  journal.allocated = loaded.journal.bytes.size();
  journal.last_checksum = loaded.replay.last_checksum;
  if (loaded.replay.cut > 0) {
    RETURN_IF_ERROR(journal.file->Truncate(journal.end));
    journal.allocated = journal.end;
  }
  RETURN_IF_ERROR(journal.file->Sync());
  ASSIGN_OR_RETURN(journal.inode, journal.file->Inode());
  return journal;
}

}  // namespace

std::string DirectoryOf(const SessionKey& key) {
  return std::string(kSessions) + "/" + key.tenant.value() + "/" + key.session.value();
}

absl::StatusOr<Opened> RecoverSession(Files& files, const SessionKey& key,
                                      const StoreIdentity& identity) {
  ASSIGN_OR_RETURN(Loaded loaded, Load(files, key, identity));
  RETURN_IF_ERROR(LoadRequests(files, key, *loaded.journal.file, loaded.contents));
  Opened opened;
  opened.manifest = loaded.manifest;
  if (loaded.journal_is_covered) {
    RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key)));
    ASSIGN_OR_RETURN(opened.journal, ReplaceJournal(files, key, loaded.manifest));
    RETURN_IF_ERROR(RemoveUnnamed(files, key, loaded.contents, loaded.manifest.file));
  } else {
    std::unique_ptr<File> file = std::move(loaded.journal.file);
    ASSIGN_OR_RETURN(opened.journal, Adopt(loaded, std::move(file)));
    RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key)));
  }
  opened.contents = std::move(loaded.contents);
  return opened;
}

absl::StatusOr<Head> PeekSession(Files& files, const SessionKey& key,
                                 const StoreIdentity& identity) {
  ASSIGN_OR_RETURN(Loaded loaded, Load(files, key, identity));
  return std::move(loaded.contents.head);
}

std::string NewJournal(const Manifest& manifest, uint32_t* checksum) {
  Encoder out;
  out.Number(manifest.file);
  FrameHead head;
  head.type = FrameType::kStart;
  head.salt = manifest.salt;
  std::string bytes = EncodeFrame(head, out.bytes(), 0);
  *checksum = ReadFrame(bytes, 0, manifest.salt).frame.checksum;
  return bytes;
}

absl::StatusOr<Journal> ReplaceJournal(Files& files, const SessionKey& key,
                                       const Manifest& manifest) {
  const std::string path = std::string(kTmp) + "/" + manifest.uid.value() + ".journal";
  Journal journal;
  const std::string bytes = NewJournal(manifest, &journal.last_checksum);
  RETURN_IF_ERROR(RemoveTree(files, path));
  RETURN_IF_ERROR(WriteNew(files, path, bytes));
  ASSIGN_OR_RETURN(journal.file, files.Open(path, OpenMode::kWrite));
  ASSIGN_OR_RETURN(journal.inode, journal.file->Inode());
  RETURN_IF_ERROR(files.Rename(path, DirectoryOf(key) + "/" + kJournalFile));
  RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key)));
  journal.end = bytes.size();
  journal.allocated = bytes.size();
  return journal;
}

absl::Status RemoveUnnamed(Files& files, const SessionKey& key, const Contents& contents,
                           uint64_t file) {
  const std::set<std::string> named = NamedFiles(contents, file);
  for (const char* directory : {kStateDirectory, kAuditDirectory}) {
    const std::string path = DirectoryOf(key) + "/" + directory;
    const absl::StatusOr<std::vector<std::string>> names = files.List(path);
    if (absl::IsNotFound(names.status())) continue;
    RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      std::string relative = directory;
      relative.append("/").append(name);
      if (named.contains(relative)) continue;
      RETURN_IF_ERROR(files.RemoveFile(DirectoryOf(key).append("/").append(relative)));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs
