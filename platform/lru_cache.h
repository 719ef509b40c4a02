// A cache with a bound on its entries and one on its bytes; over either one it evicts the least
// recently used entry.
#ifndef HOLDFAST_PLATFORM_LRU_CACHE_H_
#define HOLDFAST_PLATFORM_LRU_CACHE_H_

#include "platform/heap_size.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace holdfast {

struct LruBounds {
  size_t entries = 0;
  size_t bytes = 0;  // of all entries, with their keys and what the containers take
};

// `HeapSize` of a key and of a value, which argument-dependent lookup finds, says how many bytes it
// holds on the heap. Any thread may call.
template <typename Key, typename Value>
class LruCache final {
 public:
  explicit LruCache(LruBounds bounds) : bounds_(bounds) {}

  std::optional<Value> Find(const Key& key) {
    const absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->value;
  }

  // Stores `value`, unless `keeps(the value that is stored)`. A value larger than the cache is not
  // stored.
  template <typename Keeps>
  void Put(const Key& key, Value value, Keeps keeps) {
    const size_t bytes = EntryBytes(key, value);
    // Both are destroyed when the lock is released: freeing many entries takes time.
    List evicted;
    List added;
    added.push_back({.key = key, .value = std::move(value), .bytes = bytes});
    const absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      if (keeps(std::as_const(found->second->value))) {
        by_use_.splice(by_use_.begin(), by_use_, found->second);
        return;
      }
      Remove(found, evicted);
    }
    if (bytes > bounds_.bytes) return;
    by_use_.splice(by_use_.begin(), added);
    by_key_.emplace(key, by_use_.begin());
    bytes_ += bytes;
    while (by_use_.size() > bounds_.entries || bytes_ > bounds_.bytes) {
      Remove(by_key_.find(by_use_.back().key), evicted);
    }
  }

  void Forget(const Key& key) {
    List evicted;
    const absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) Remove(found, evicted);
  }

  // What the entries take.
  [[nodiscard]] size_t Bytes() {
    const absl::MutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    Key key;
    Value value;
    size_t bytes = 0;
  };
  using List = std::list<Entry>;
  using Index = absl::flat_hash_map<Key, typename List::iterator>;

  static size_t EntryBytes(const Key& key, const Value& value) {
    // A list node has two links, and a hash table may be less than half full.
    const size_t node = kAllocationOverhead + sizeof(Entry) + 2 * sizeof(void*);
    const size_t slots = 2 * (sizeof(typename Index::value_type) + 1);
    return node + slots + 2 * HeapSize(key) + HeapSize(value);
  }

  // Moves an entry to `evicted`.
  void Remove(typename Index::iterator found, List& evicted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bytes_ -= found->second->bytes;
    evicted.splice(evicted.begin(), by_use_, found->second);
    by_key_.erase(found);
  }

  const LruBounds bounds_;
  absl::Mutex mutex_;
  List by_use_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  Index by_key_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_LRU_CACHE_H_
