// The newer entries of a space of the index, in memory: those of the journal, and of the head file
// what is not yet worth a run.
#ifndef HOLDFAST_STORE_FS_INDEX_LAYER_H_
#define HOLDFAST_STORE_FS_INDEX_LAYER_H_

#include "store-fs/index_entry.h"

#include "absl/container/btree_map.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// Used by one thread at a time.
class IndexLayer {
 public:
  using Entries = absl::btree_map<std::string, std::optional<std::string>>;

  // Puts an entry in the place of the one with its key, if there is one.
  void Put(IndexEntry entry);
  // Takes the entry out, as if it had never been put: what a run has of the key is found again.
  void Remove(const std::string& key);
  void Clear();

  // The entry with the greatest key that is not greater than `key` and begins with `part`; nullptr
  // when there is none. Valid until the layer changes.
  [[nodiscard]] const Entries::value_type* FindAtOrBelow(const std::string& key,
                                                         std::string_view part) const;
  // The value of an entry, absent where it says that the key is deleted; nullptr when there is no
  // entry. Valid until the layer changes.
  [[nodiscard]] const std::optional<std::string>* Find(const std::string& key) const;
  // Copies of the entries in a range, in the order of their keys.
  [[nodiscard]] std::vector<IndexEntry> EntriesIn(const KeyRange& range) const;
  // The same of `most` at most, the last ones if it descends; in the order of their keys.
  [[nodiscard]] std::vector<IndexEntry> SomeIn(const KeyRange& range, Direction direction,
                                               size_t most) const;
  [[nodiscard]] const Entries& entries() const { return entries_; }
  // Of keys and values together.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  Entries entries_;
  size_t bytes_ = 0;
};

// Reads the entries of a layer in the order of their keys, or in the opposite one. The layer must
// not change meanwhile.
class IndexLayerCursor {
 public:
  IndexLayerCursor(const IndexLayer& layer, const KeyRange& range, Direction direction);

  // The next entry; nullopt at the end of the range.
  std::optional<IndexEntry> Next();

 private:
  const Direction direction_;
  IndexLayer::Entries::const_iterator begin_;
  IndexLayer::Entries::const_iterator end_;
  const bool ended_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_INDEX_LAYER_H_
