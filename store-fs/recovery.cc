#include "store-fs/recovery.h"

#include "platform/status_macros.h"
#include "session/answers.h"
#include "session/refusal.h"
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

absl::Status Damaged(std::string_view what, std::string_view why) {
  return Refusal(Reason::kDamaged, "a file of this session is not what this store wrote")
      .With("what", what)
      .With("why", why);
}

// A file that must be there: its absence, or a link in its place, is damage; any other error is a
// failure of the disk.
absl::Status ClassifyRead(const absl::Status& status, std::string_view what) {
  if (status.ok()) return status;
  if (absl::IsNotFound(status)) return Damaged(what, "it is missing");
  if (absl::IsFailedPrecondition(status)) return Damaged(what, "something else is in its place");
  return status;
}

// The birth belongs to the same file unless the file is replaced at this moment; then it matches no
// watermark.
absl::StatusOr<FileIdentity> Identify(Files& files, const std::string& path, File& file) {
  FileIdentity identity;
  ASSIGN_OR_RETURN(identity.inode, file.Inode());
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (info.ok()) identity.birth_ns = info->birth_ns;
  return identity;
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
absl::Status ClassifyTail(std::string_view bytes, FrameState state, const StoreIdentity& identity,
                          uint64_t salt, Replay& replay) {
  replay.cut = LastNonZero(bytes, replay.end) - replay.end;
  if (identity.unsynced || replay.cut == 0) return absl::OkStatus();
  if (state == FrameState::kDamaged) return Damaged("journal.log", "wrong checksum");
  if (ValidFrameFollows(bytes, replay.end, salt)) {
    return Damaged("journal.log", "a frame in the middle is missing");
  }
  return absl::OkStatus();
}

absl::Status AbsorbFrame(const Frame& frame, uint64_t offset, SessionState& state) {
  const auto changes = DecodeChanges(frame.payload);
  if (!changes) return Damaged("journal.log", "wrong shape");
  for (const StoredChange& change : *changes) {
    state.Absorb(change, frame.payload, offset + kFrameHeader);
  }
  return absl::OkStatus();
}

absl::StatusOr<Replay> ReplayFrames(std::string_view bytes, const Frame& start,
                                    const StoreIdentity& identity, SessionState& state) {
  Replay replay{.end = start.size, .last_checksum = start.checksum, .cut = 0};
  const uint64_t salt = start.head.salt;
  for (;;) {
    const FrameRead read = ReadFrame(bytes, replay.end, salt);
    if (read.state != FrameState::kValid) {
      RETURN_IF_ERROR(ClassifyTail(bytes, read.state, identity, salt, replay));
      return replay;
    }
    const FrameHead& head = read.frame.head;
    if (head.previous != replay.last_checksum || head.type != FrameType::kCommit) {
      return Damaged("journal.log", "a frame is not the next one");
    }
    RETURN_IF_ERROR(AbsorbFrame(read.frame, replay.end, state));
    if (state.head.revision != head.revision || state.head.lease.epoch != head.epoch) {
      return Damaged("journal.log", "a frame contradicts its header");
    }
    replay.end += read.frame.size;
    replay.last_checksum = read.frame.checksum;
  }
}

struct JournalBytes {
  std::unique_ptr<File> file;
  FileIdentity identity;
  std::string bytes;
  Frame start;
};

absl::StatusOr<JournalBytes> ReadJournal(Files& files, const SessionKey& key, uint64_t most) {
  const std::string path = DirectoryOf(key) + "/" + kJournalFile;
  absl::StatusOr<std::unique_ptr<File>> file = files.Open(path, OpenMode::kWrite);
  RETURN_IF_ERROR(ClassifyRead(file.status(), kJournalFile));
  JournalBytes journal{.file = *std::move(file), .identity = {}, .bytes = {}, .start = {}};
  ASSIGN_OR_RETURN(journal.identity, Identify(files, path, *journal.file));
  ASSIGN_OR_RETURN(const uint64_t size, journal.file->Size());
  if (size > most) return Damaged(kJournalFile, "larger than it can be");
  ASSIGN_OR_RETURN(journal.bytes, journal.file->Read(0, size));
  const FrameRead start = ReadFrame(journal.bytes, 0, std::nullopt);
  if (start.state != FrameState::kValid || start.frame.head.type != FrameType::kStart) {
    return Damaged(kJournalFile, "it does not begin as a journal");
  }
  journal.start = start.frame;
  return journal;
}

// The head on the disk, before anything is repaired.
struct UnrepairedSession {
  Manifest manifest;
  SessionState state;
  JournalBytes journal;
  Replay replay;
  bool journal_is_covered = false;  // a rotation was cut between its steps 2 and 3
};

// An unfinished write was never acknowledged, so what was acknowledged is there, or is damaged.
absl::Status CheckAcknowledged(const UnrepairedSession& found,
                               const std::optional<Watermark>& mark) {
  if (!mark || !mark->IsOf(found.journal.identity)) return absl::OkStatus();
  // Of a journal that the files cover everything is there by their digest.
  const bool shorter = !found.journal_is_covered && found.replay.end < mark->end;
  if (!shorter && found.state.head.revision >= mark->revision) return absl::OkStatus();
  return Damaged(kJournalFile, "it ends before what was acknowledged");
}

absl::StatusOr<UnrepairedSession> Load(Files& files, const SessionKey& key,
                                       const StoreIdentity& identity,
                                       const std::optional<Watermark>& mark) {
  UnrepairedSession found;
  ASSIGN_OR_RETURN(found.manifest, ReadManifest(files, key, identity.store));
  ASSIGN_OR_RETURN(found.state, ReadHeadFile(files, key, found.manifest, identity.bounds.head));
  ASSIGN_OR_RETURN(found.journal, ReadJournal(files, key, identity.bounds.journal));
  found.state.head.incarnation = identity.incarnation;
  const uint64_t salt = found.journal.start.head.salt;
  if (salt == found.manifest.salt) {
    ASSIGN_OR_RETURN(found.replay,
                     ReplayFrames(found.journal.bytes, found.journal.start, identity, found.state));
  } else if (found.manifest.file > 0 && salt == found.manifest.previous_salt) {
    found.journal_is_covered = true;
  } else {
    return Damaged(kJournalFile, "it belongs to another manifest");
  }
  Head& head = found.state.head;
  if (head.snapshots.empty()) return Damaged(kJournalFile, "it has no snapshot");
  if (head.uid != found.manifest.uid || head.store != identity.store) {
    return Damaged("head", "it belongs to another session");
  }
  RETURN_IF_ERROR(CheckAcknowledged(found, mark));
  head.tail_bytes_truncated = found.replay.cut;
  return found;
}

// What survived may be in the page cache alone: it is made durable anew before it is served.
absl::StatusOr<Journal> Adopt(const UnrepairedSession& found, std::unique_ptr<File> file) {
  Journal journal;
  journal.file = std::move(file);
  journal.identity = found.journal.identity;
  journal.end = found.replay.end;
  journal.allocated = found.journal.bytes.size();
  journal.last_checksum = found.replay.last_checksum;
  if (found.replay.cut > 0) {
    RETURN_IF_ERROR(AfterWriting(journal.file->Truncate(journal.end)));
    journal.allocated = journal.end;
  }
  RETURN_IF_ERROR(AfterWriting(journal.file->Sync()));
  return journal;
}

// Gives back what was taken in advance behind a sealed journal. Harmless if it fails: nothing is
// read there.
void TrimSealed(const UnrepairedSession& found) {
  const std::vector<SealedLog>& sealed = found.state.sealed;
  if (sealed.empty() || sealed.back().file != found.manifest.file) return;
  if (sealed.back().bytes >= found.journal.bytes.size()) return;
  found.journal.file->Truncate(sealed.back().bytes).IgnoreError();
}

// What was there goes on being read, and nothing is written behind it.
Journal Covered(JournalBytes old) {
  Journal journal;
  journal.identity = old.identity;
  journal.file = std::move(old.file);
  journal.end = old.bytes.size();
  journal.allocated = journal.end;
  journal.covered = true;
  return journal;
}

}  // namespace

absl::StatusOr<Manifest> ReadManifest(Files& files, const SessionKey& key, const StoreId& store) {
  const std::string directory = DirectoryOf(key);
  const absl::StatusOr<FileInfo> info = files.Stat(directory);
  if (absl::IsNotFound(info.status())) return SessionIsNotThere();
  RETURN_IF_ERROR(ClassifyRead(info.status(), "directory"));
  if (!info->directory) return Damaged("directory", "something else is in its place");
  const absl::StatusOr<std::string> text =
      ReadWhole(files, directory + "/" + kManifestFile, kManifestFileBytes);
  RETURN_IF_ERROR(ClassifyRead(text.status(), kManifestFile));
  return DecodeManifest(*text, key, store);
}

absl::StatusOr<SessionState> ReadHeadFile(Files& files, const SessionKey& key,
                                          const Manifest& manifest, size_t most) {
  if (manifest.file == 0) return SessionState();
  const std::string name = PathOf(key, FileKind::kHead, manifest.file);
  const absl::StatusOr<std::string> bytes = ReadWhole(files, name, most);
  RETURN_IF_ERROR(ClassifyRead(bytes.status(), "head"));
  if (Sha256(*bytes) != manifest.head_digest) return Damaged("head", "wrong digest");
  std::optional<SessionState> state = DecodeSessionState(*bytes);
  if (!state) return Damaged("head", "wrong shape");
  return *std::move(state);
}

std::string DirectoryOf(const SessionKey& key) {
  return std::string(kSessions) + "/" + key.tenant.value() + "/" + key.session.value();
}

absl::StatusOr<StoredSession> RecoverSession(Files& files, const SessionKey& key,
                                             const StoreIdentity& identity,
                                             const std::optional<Watermark>& mark) {
  ASSIGN_OR_RETURN(UnrepairedSession found, Load(files, key, identity, mark));
  StoredSession stored;
  stored.manifest = found.manifest;
  if (found.journal_is_covered) {
    RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key)));
    absl::StatusOr<Journal> next = ReplaceJournal(files, key, found.manifest);
    if (next.ok()) TrimSealed(found);
    if (IsLack(next.status())) next = Covered(std::move(found.journal));
    RETURN_IF_ERROR(next.status());
    stored.journal = *std::move(next);
    RETURN_IF_ERROR(RemoveUnnamed(files, key, found.state, found.manifest.file));
  } else {
    // First what may lack something: behind it the disk is written.
    RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key)));
    std::unique_ptr<File> file = std::move(found.journal.file);
    ASSIGN_OR_RETURN(stored.journal, Adopt(found, std::move(file)));
  }
  stored.state = std::move(found.state);
  return stored;
}

absl::StatusOr<Head> PeekSession(Files& files, const SessionKey& key, const StoreIdentity& identity,
                                 const std::optional<Watermark>& mark) {
  ASSIGN_OR_RETURN(UnrepairedSession found, Load(files, key, identity, mark));
  return std::move(found.state.head);
}

absl::StatusOr<Journal> ReplaceJournal(Files& files, const SessionKey& key,
                                       const Manifest& manifest) {
  const std::string path = std::string(kTmp) + "/" + manifest.uid.value() + ".journal";
  Journal journal;
  const EncodedFrame start = EncodeStart({.salt = manifest.salt, .number = manifest.file});
  RETURN_IF_ERROR(RemoveTree(files, path));
  RETURN_IF_ERROR(WriteNew(files, path, start.bytes));
  ASSIGN_OR_RETURN(journal.file, files.Open(path, OpenMode::kWrite));
  ASSIGN_OR_RETURN(journal.identity, Identify(files, path, *journal.file));
  RETURN_IF_ERROR(files.Rename(path, DirectoryOf(key) + "/" + kJournalFile));
  RETURN_IF_ERROR(AfterWriting(files.SyncDirectory(DirectoryOf(key))));
  journal.end = start.bytes.size();
  journal.allocated = journal.end;
  journal.last_checksum = start.checksum;
  return journal;
}

absl::Status RemoveUnnamed(Files& files, const SessionKey& key, const SessionState& state,
                           uint64_t file) {
  const std::set<std::string> named = NamedFiles(state, file);
  const std::string directory = DirectoryOf(key) + "/" + kStateDirectory;
  const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  if (absl::IsNotFound(names.status()) || IsLack(names.status())) return absl::OkStatus();
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (named.contains(std::string(kStateDirectory) + "/" + name)) continue;
    std::string path = directory;
    const absl::Status removed = files.RemoveFile(path.append("/").append(name));
    if (IsLack(removed)) return absl::OkStatus();
    RETURN_IF_ERROR(removed);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs
