// Counts the work of a store of files.
#ifndef HOLDFAST_TESTS_SUPPORT_FILE_WORK_METER_H_
#define HOLDFAST_TESTS_SUPPORT_FILE_WORK_METER_H_

#include "session/store_meter.h"

#include <array>
#include <atomic>
#include <cstddef>

namespace holdfast::test {

// Any thread may call.
class FileWorkMeter final : public StoreMeter {
 public:
  void FileWorkDone(FileWork work) override { ++done_.at(static_cast<size_t>(work)); }
  [[nodiscard]] size_t Done(FileWork work) const { return done_.at(static_cast<size_t>(work)); }

 private:
  std::array<std::atomic<size_t>, kFileWorks> done_{};
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_FILE_WORK_METER_H_
