#include "server/telemetry/resource_metrics.h"

#include <cstddef>
#include <filesystem>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <system_error>
#include <utility>

namespace holdfast {
namespace {

// The entries of a directory of /proc, or -1 when it cannot be read.
double EntriesOf(const char* directory) {
  std::error_code error;
  double count = 0;
  std::filesystem::directory_iterator entry(directory, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return error ? -1 : count;
}

double Known(double value) { return value < 0 ? std::numeric_limits<double>::quiet_NaN() : value; }

double Seconds(const timeval& time) {
  constexpr double kMicroseconds = 1e6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicroseconds;
}

double ProcessorSeconds() {
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) != 0) return Known(-1);
  return Seconds(use.ru_utime) + Seconds(use.ru_stime);
}

double DescriptorsMost() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Known(-1);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

ResourceMetrics::ResourceMetrics(Parts parts) : parts_(std::move(parts)) {
  Look();
  const auto read = [this](Metric metric, const Value& value) {
    parts_.metrics.Read(metric, {}, [&value] { return value.load(); });
  };
  read(Metric::kProcessMemory, resident_);
  read(Metric::kProcessCpu, cpu_);
  read(Metric::kProcessDescriptors, descriptors_);
  read(Metric::kProcessThreads, threads_);
  read(Metric::kFilesSize, files_size_);
  read(Metric::kFilesFree, files_available_);
  parts_.metrics.Read(Metric::kProcessDescriptorsLimit, {}, DescriptorsMost);
  beat_ = std::make_unique<Periodic>(kResourceBeat, parts_.random, [this] { Look(); });
}

void ResourceMetrics::Look() {
  LookAtProcess();
  LookAtFiles();
  if (parts_.more) parts_.more();
}

void ResourceMetrics::LookAtProcess() {
  const auto resident = static_cast<double>(parts_.memory.Resident());
  resident_ = resident > 0 ? resident : kUnknown;
  cpu_ = ProcessorSeconds();
  // One is the look's own.
  descriptors_ = Known(EntriesOf("/proc/self/fd") - 1);
  threads_ = Known(EntriesOf("/proc/self/task"));
}

void ResourceMetrics::LookAtFiles() {
  struct statvfs found {};
  const bool known = !parts_.root.empty() && statvfs(parts_.root.c_str(), &found) == 0;
  const auto bytes = [&](fsblkcnt_t blocks) {
    return known ? static_cast<double>(blocks) * static_cast<double>(found.f_frsize) : kUnknown;
  };
  files_size_ = bytes(found.f_blocks);
  files_available_ = bytes(found.f_bavail);
}

}  // namespace holdfast
