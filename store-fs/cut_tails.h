// Unfinished writes that recovery has cut off: counted, and each one reported to the operator.
#ifndef HOLDFAST_STORE_FS_CUT_TAILS_H_
#define HOLDFAST_STORE_FS_CUT_TAILS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace holdfast::fs {

// What was cut off the end of a file. It was never acknowledged.
struct CutTail {
  std::string file;  // its path in the root
  uint64_t bytes = 0;
  uint64_t count = 0;  // of tails that were cut since the store was opened, this one included
};

// Any thread may call.
class CutTails {
 public:
  using Report = std::function<void(const CutTail& tail)>;

  explicit CutTails(Report report) : report_(std::move(report)) {}

  void Note(const std::string& file, uint64_t bytes) {
    const uint64_t count = ++count_;
    if (report_) report_({.file = file, .bytes = bytes, .count = count});
  }
  [[nodiscard]] uint64_t count() const { return count_; }

 private:
  const Report report_;
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_CUT_TAILS_H_
