#include "server/container.h"

#include "session/limits.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast {
namespace {

// What is read of a file of /proc: mountinfo has a line for each mount that the process sees.
constexpr size_t kProcBytesMost = 4 * kMiB;
// Of a file with a limit, which has two numbers at most.
constexpr size_t kLimitBytesMost = 128;
// Cgroups above one another; the kernel's own default is more than any system nests.
constexpr int kCgroupDepthMost = 64;
// Of the container's memory, what the process may hold.
constexpr size_t kProcessQuarters = 3;

// The start of the file; empty when it cannot be read.
std::string ReadStart(const std::string& path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number == 0) return std::nullopt;
  return number;
}

// The one line of a file of a cgroup; empty when it is of another form.
std::string_view OnlyLine(std::string_view text) {
  const size_t end = text.find('\n');
  return end == std::string_view::npos || end + 1 != text.size() ? "" : text.substr(0, end);
}

std::optional<size_t> ParseMemoryMax(std::string_view text) { return ParseNumber(OnlyLine(text)); }

// "QUOTA PERIOD" in microseconds, or "max PERIOD".
std::optional<double> ParseCpuMax(std::string_view text) {
  const std::string_view line = OnlyLine(text);
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto quota = ParseNumber(line.substr(0, space));
  const auto period = ParseNumber(line.substr(space + 1));
  if (!quota || !period) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

template <typename Limit>
void TakeSmaller(std::optional<Limit> found, std::optional<Limit>& limit) {
  if (found && (!limit || *found < *limit)) limit = found;
}

// The process's cgroup as its namespace names it: the line "0::PATH".
std::optional<std::string> CgroupOf(const std::string& text) {
  constexpr std::string_view kUnified = "0::/";
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    if (line.starts_with(kUnified)) return line.substr(kUnified.size() - 1);
  }
  return std::nullopt;
}

struct Mount {
  std::string root;   // the cgroup that is seen at the point
  std::string point;  // a path
};

// mountinfo writes a space, a tab, a line break and a backslash as three octal digits.
std::string Unescape(std::string_view text) {
  constexpr size_t kDigits = 3;
  constexpr int kOctal = 8;
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    uint8_t byte = 0;
    const std::string_view digits = text.substr(at + 1).substr(0, kDigits);
    const char* const end = digits.data() + digits.size();
    if (text[at] == '\\' && digits.size() == kDigits &&
        std::from_chars(digits.data(), end, byte, kOctal).ptr == end) {
      plain += static_cast<char>(byte);
      at += kDigits;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// The first mount of version 2: "ID PARENT DEVICE ROOT POINT OPTIONS… - TYPE SOURCE OPTIONS".
std::optional<Mount> MountOf(const std::string& text) {
  constexpr size_t kRoot = 3;
  constexpr size_t kPoint = 4;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (dash == fields.end() || dash - fields.begin() <= static_cast<ptrdiff_t>(kPoint)) continue;
    if (dash + 1 == fields.end() || *(dash + 1) != "cgroup2") continue;
    return Mount{.root = Unescape(fields[kRoot]), .point = Unescape(fields[kPoint])};
  }
  return std::nullopt;
}

// `cgroup` as a path below the mount's point: "" or "/a/b". What is not below the mount's root
// cannot be seen, so that the point itself is all there is.
std::string BelowPoint(const Mount& mount, const std::string& cgroup) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  if (!cgroup.starts_with(root)) return "";
  const std::string below = cgroup.substr(root.size());
  const std::vector<std::string> names = absl::StrSplit(below, '/');
  const bool leaves = std::ranges::find(names, "..") != names.end();
  return !below.starts_with('/') || below == "/" || leaves ? "" : below;
}

}  // namespace

Container Container::OfProcess(const std::string& root) {
  Container found;
  const auto cgroup = CgroupOf(ReadStart(root + "/proc/self/cgroup", kProcBytesMost));
  const auto mount = MountOf(ReadStart(root + "/proc/self/mountinfo", kProcBytesMost));
  if (!cgroup || !mount) return found;
  std::string below = BelowPoint(*mount, *cgroup);
  for (int depth = 0; depth < kCgroupDepthMost; ++depth) {
    const std::string folder = absl::StrCat(root, mount->point, below);
    const std::string memory = ReadStart(folder + "/memory.max", kLimitBytesMost);
    TakeSmaller(ParseMemoryMax(memory), found.memory_bytes);
    TakeSmaller(ParseCpuMax(ReadStart(folder + "/cpu.max", kLimitBytesMost)), found.cores);
    if (below.empty()) break;
    below.resize(below.rfind('/'));
  }
  return found;
}

size_t Container::Cores(size_t of_machine) const {
  size_t most = std::max<size_t>(1, of_machine);
  if (cores && *cores < static_cast<double>(most)) most = static_cast<size_t>(std::ceil(*cores));
  return std::max<size_t>(1, most);
}

size_t Container::MemoryBudget() const {
  return memory_bytes ? std::min(*memory_bytes / 2, kMemoryBudgetDefault) : kMemoryBudgetDefault;
}

size_t Container::ProcessLimit(size_t memory_budget) const {
  const size_t limit = memory_budget + kProcessBytes;
  return memory_bytes ? std::min(limit, *memory_bytes / 4 * kProcessQuarters) : limit;
}

}  // namespace holdfast
