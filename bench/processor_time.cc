#include "bench/processor_time.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::bench {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr double kMicrosecond = 1e-6;
// Fields of /proc/<pid>/stat behind the name in brackets, before the times of ended children.
constexpr int kFieldsBeforeChildren = 13;

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicrosecond;
}

double UsedBy(int who) {
  rusage used{};
  getrusage(who, &used);
  return Seconds(used.ru_utime) + Seconds(used.ru_stime);
}

}  // namespace

double ProcessorSecondsOf(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * kNanosecond;
}

double EndedChildrenSecondsOf(pid_t pid) {
  const std::string text = FirstLine("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 0; field < kFieldsBeforeChildren; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double NamedThreadsSecondsOf(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string unnamed = FirstLine(process + "/comm");
  double nanoseconds = 0;
  std::error_code ended;
  std::filesystem::directory_iterator thread(process + "/task", ended);
  for (; !ended && thread != std::filesystem::directory_iterator(); thread.increment(ended)) {
    if (FirstLine(thread->path() / "comm") == unnamed) continue;
    std::istringstream fields(FirstLine(thread->path() / "schedstat"));
    double ran = 0;
    fields >> ran;
    nanoseconds += ran;
  }
  return nanoseconds * kNanosecond;
}

double OwnProcessorSeconds() { return UsedBy(RUSAGE_SELF) + UsedBy(RUSAGE_CHILDREN); }

std::vector<pid_t> ChildrenOf(pid_t pid) {
  const std::string id = std::to_string(pid);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<pid_t>(children), {}};
}

}  // namespace holdfast::bench
