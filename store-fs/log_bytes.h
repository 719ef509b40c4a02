// How many bytes of each sealed log are counted: a log of which none are is not there.
#ifndef HOLDFAST_STORE_FS_LOG_BYTES_H_
#define HOLDFAST_STORE_FS_LOG_BYTES_H_

#include "platform/encoding.h"

#include <cstdint>
#include <map>
#include <set>

namespace holdfast::fs {

// Used by one thread at a time.
class LogBytes {
 public:
  void Add(uint64_t file, uint64_t bytes);
  // Takes so many off, or all where there are fewer. False when there are fewer.
  bool TakeOff(uint64_t file, uint64_t bytes);
  // Those of `sources` are in log.<file> now.
  void Move(const std::set<uint64_t>& sources, uint64_t file);

  [[nodiscard]] uint64_t In(uint64_t file) const;
  // Adds each count to that of its log in `sums`.
  void AddTo(std::map<uint64_t, uint64_t>& sums) const;

  void Put(Encoder& out) const;
  static LogBytes Read(Decoder& in);

 private:
  std::map<uint64_t, uint64_t> bytes_;  // by the number of the log
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_LOG_BYTES_H_
