// How large what this store writes may become. Writers and readers share these bounds: a reader
// takes a larger item for damage, so a writer refuses it.
#ifndef HOLDFAST_STORE_FS_BOUNDS_H_
#define HOLDFAST_STORE_FS_BOUNDS_H_

#include "session/limits.h"

#include <cstddef>
#include <cstdint>

namespace holdfast::fs {

inline constexpr size_t kHeadFileBytes = 256 * kMiB;
inline constexpr size_t kIndexFileBytes = 4096 * kMiB;
inline constexpr size_t kManifestFileBytes = 64 * kKiB;
inline constexpr size_t kWriteAheadFileBytes = 16 * kMiB;
inline constexpr size_t kRootFileBytes = 4 * kKiB;

// The sorted index of a session. Of a run: a key and a value of an entry, a block, how many blocks,
// the filter, and the directory with the filter.
inline constexpr size_t kIndexKeyBytes = 2 * kKiB;
inline constexpr size_t kIndexValueBytes = 4 * kKiB;
inline constexpr size_t kRunBlockBytes = 64 * kKiB;
inline constexpr size_t kRunBlocks = 16384;
inline constexpr size_t kRunFilterBytes = 4 * kMiB;
inline constexpr size_t kRunDirectoryBytes = 40 * kMiB;
// Runs of one space. Merges keep them far below, unless runs are damaged.
inline constexpr size_t kRunsPerSpace = 1024;
// Newer entries that head.<g> holds itself: a rotation writes them as a run once they are more.
inline constexpr size_t kInlineEntryBytes = 8 * kKiB;

// Labels, content type, parent key and references of an item that its entry in the index has
// itself: what is more stays where its data is.
inline constexpr size_t kItemFactsInlineBytes = 1 * kKiB;

// Those that a test may lower.
struct Bounds {
  size_t change = kEncodedChangeBytes;  // also of all changes of one frame together
  uint64_t journal = kJournalFileBytes;
  size_t head = kHeadFileBytes;                 // head.<g>
  uint64_t write_ahead = kWriteAheadFileBytes;  // each of the two files
  size_t inline_entries = kInlineEntryBytes;    // in head.<g>
};

// What a frame's payload has beside its changes: a version, and how many there are.
inline constexpr size_t kPayloadHeadBytes = 32;
static_assert(kEncodedChangeBytes + kPayloadHeadBytes <= kFramePayloadBytes);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_BOUNDS_H_
