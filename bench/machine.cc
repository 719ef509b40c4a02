#include "bench/machine.h"

#include "bench/figures.h"
#include "bench/fresh_bytes.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace holdfast::bench {
namespace {

// From linux/magic.h.
constexpr uint64_t kTmpfs = 0x01021994;
constexpr uint64_t kRamfs = 0x858458f6;
constexpr int kProbes = 51;

std::string Whole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Processor() {
  std::istringstream lines(Whole("/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

bool Covers(const std::string& point, const std::string& directory) {
  if (point == "/") return true;
  return directory == point || directory.starts_with(point + "/");
}

// The line of /proc/self/mounts with the longest mount point above `directory`.
std::string MountOf(const std::string& directory) {
  std::istringstream lines(Whole("/proc/self/mounts"));
  std::string best = "unknown";
  size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::array<std::string, 4> field;
    for (std::string& text : field) fields >> text;
    const auto& [device, point, type, options] = field;
    if (!Covers(point, directory) || point.size() < longest) continue;
    longest = point.size();
    best = type;
    best.append(" on ").append(device).append(" (").append(options).append(")");
  }
  return best;
}

// Half of the syncs of 8 KB inside a file take no longer than this; -1 when the disk refuses.
double SyncMicroseconds(const std::string& directory) {
  const std::string path = directory + "/sync.probe";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  FreshBytes fresh;
  std::vector<double> took;
  for (int probe = 0; probe < kProbes; ++probe) {
    const std::string bytes = fresh.Take(kPayload);
    const auto begin = std::chrono::steady_clock::now();
    const bool done =
        pwrite(fd, bytes.data(), bytes.size(), 0) == ssize_t{kPayload} && fdatasync(fd) == 0;
    took.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
    if (!done) took.assign(1, -1);
  }
  close(fd);
  unlink(path.c_str());
  return Median(took);
}

}  // namespace

absl::Status CheckMachine(const std::string& directory) {
  struct statfs info {};
  if (statfs(directory.c_str(), &info) != 0) {
    return absl::FailedPreconditionError("cannot look at " + directory);
  }
  const auto type = static_cast<uint64_t>(static_cast<uint32_t>(info.f_type));
  if (type == kTmpfs || type == kRamfs) {
    return absl::FailedPreconditionError(directory + " lies in memory, where a sync costs nothing");
  }
  if (std::getenv("LD_PRELOAD") != nullptr) {
    return absl::FailedPreconditionError("LD_PRELOAD is set and may take the syncs away");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> DescribeMachine(const std::string& directory) {
  utsname system{};
  uname(&system);
  const double sync = SyncMicroseconds(directory);
  if (sync < 0) return absl::UnavailableError("cannot write and sync in " + directory);
  std::ostringstream out;
  out << "# cpu " << Processor() << ", " << std::thread::hardware_concurrency() << " cores\n"
      << "# kernel " << static_cast<const char*>(system.release) << "\n"
      << "# file system " << MountOf(directory) << "\n"
      << "# fsync on, 8 KB inside a file in " << static_cast<int>(sync) << " us\n"
      << "# " << LoadLine() << "\n";
  return out.str();
}

std::string LoadLine() {
  const std::string load = Whole("/proc/loadavg");
  return "load " + load.substr(0, load.rfind(' ', load.find('/')));
}

}  // namespace holdfast::bench
