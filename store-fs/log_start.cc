#include "store-fs/log_start.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-fs/journal_restore.h"
#include "store-fs/write_ahead_files.h"

namespace holdfast::fs {
namespace {

absl::Status CheckDamage(const FsOptions& options, const absl::Status& damage) {
  const std::string words(damage.message());
  if (!options.adopt) {
    return StoreUnavailable("cannot serve " + options.root + ": " + words +
                                ", so that what was acknowledged last may be missing; to go on "
                                "with what there is, run: holdfastd store adopt",
                            Fate::kNoEffect);
  }
  if (options.note) options.note(words + ": what the journals lack is lost");
  return absl::OkStatus();
}

absl::Status ClassifyRestore(const FsOptions& options, const absl::Status& restored) {
  if (!absl::IsResourceExhausted(restored)) return restored;
  return StoreUnavailable("cannot serve " + options.root +
                              ": there is no space to write to the sessions' journals what the "
                              "write-ahead log has: make room",
                          Fate::kNoEffect);
}

}  // namespace

absl::StatusOr<std::unique_ptr<WriteAheadLog>> StartLog(const FsOptions& options, const Root& root,
                                                        FailStop& fail_stop, Random& random) {
  Files& files = *root.files;
  uint64_t generation = 0;
  if (!root.was_clean) {
    const absl::StatusOr<LogContents> contents =
        ReadWriteAheadLog(files, options.bounds.write_ahead);
    if (absl::IsFailedPrecondition(contents.status())) {
      RETURN_IF_ERROR(CheckDamage(options, contents.status()));
    } else {
      RETURN_IF_ERROR(contents.status());
      RETURN_IF_ERROR(
          ClassifyRestore(options, RestoreJournals(files, root.record.store, contents->frames)));
      generation = contents->generation + 1;
    }
  }
  return WriteAheadLog::Open(
      files, fail_stop, random,
      {.generation = generation, .most = options.bounds.write_ahead, .meter = *options.meter});
}

}  // namespace holdfast::fs
