// What a container leaves of the machine to this process: the limits of its cgroup, version 2.
//
//   const Container container = Container::OfProcess();
//   pool.on_core = container.Cores(std::thread::hardware_concurrency());
#ifndef HOLDFAST_SERVER_CONTAINER_H_
#define HOLDFAST_SERVER_CONTAINER_H_

#include <cstddef>
#include <optional>
#include <string>

namespace holdfast {

// The smallest limits of the process's cgroup and of every one above it that it can see. Absent
// where there is none, it cannot be read, or it is not of the kernel's form; those of version 1 are
// not read.
struct Container {
  std::optional<size_t> memory_bytes;  // memory.max
  std::optional<double> cores;         // cpu.max: the quota as a share of its period

  // Reads them as they are now. A test has its own tree in the place of `root`: files at
  // <root>/proc/self/cgroup, <root>/proc/self/mountinfo, and below <root> what the latter names.
  static Container OfProcess(const std::string& root = "");

  // Cores that the process may keep busy, of so many that the machine gives it: a part of one
  // counts as one. At least 1.
  [[nodiscard]] size_t Cores(size_t of_machine) const;
  // `limits.memory_budget` where the configuration leaves it to the server: half of the container's
  // memory, at most kMemoryBudgetDefault.
  [[nodiscard]] size_t MemoryBudget() const;
  // What the process may hold before the memory guard acts: kProcessBytes more than the budget,
  // and at most three quarters of the container's memory. The rest is for what comes between two
  // looks, and for what the kernel counts beside the process's own: buffers of sockets and files.
  [[nodiscard]] size_t ProcessLimit(size_t memory_budget) const;

  bool operator==(const Container&) const = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_CONTAINER_H_
