#include "server/memory_guard.h"

#include "session/limits.h"

#include <array>
#include <cstdint>
#include <fcntl.h>
#include <malloc.h>
#include <sstream>
#include <string>
#include <unistd.h>

namespace holdfast {

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg, hicpp-vararg): open has no other form
ProcessMemory::ProcessMemory() : statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

ProcessMemory::Bytes ProcessMemory::Read() const {
  std::array<char, 128> text{};
  const ssize_t length = pread(statm_.get(), text.data(), text.size(), 0);
  if (length <= 0) return {};
  std::istringstream pages(std::string(text.data(), static_cast<size_t>(length)));
  size_t size = 0;
  size_t resident = 0;
  size_t shared = 0;
  if (!(pages >> size >> resident >> shared) || resident < shared) return {};
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return {.resident = resident * page, .shared = shared * page};
}

size_t ProcessMemory::Held() const {
  const Bytes bytes = Read();
  return bytes.resident - bytes.shared;
}

void ProcessMemory::ReleaseFree() { malloc_trim(0); }

void MemoryGuard::Look() {
  size_t held = parts_.memory.Held();
  // By the time that the limit is reached, it has been counted which connections brought the rest.
  if (held < parts_.limit / 2) {
    parts_.unbegun.Stop();
  } else {
    parts_.unbegun.Look();
  }
  if (held >= parts_.limit) {
    parts_.memory.ReleaseFree();
    held = parts_.memory.Held();
  }
  held_ = held;
  if (held >= parts_.limit) {
    Close(held);
  } else {
    looks_over_ = 0;
  }
}

void MemoryGuard::Close(size_t held) {
  size_t closed = parts_.unbegun.CloseHeaviest(held - parts_.limit / 2);
  looks_over_ = parts_.unbegun.closing() ? 0 : looks_over_ + 1;
  const bool all = looks_over_ == kMemoryBeatsOver;
  if (all) {
    looks_over_ = 0;
    closed = parts_.connections.DisconnectAll();
  }
  if (closed == 0) return;
  closed_ += closed;
  parts_.log.Warn(all ? "the process holds too much memory: every connection is closed"
                      : "the process holds too much memory: connections that sent most without a "
                        "call are closed",
                  {{"held_bytes", static_cast<int64_t>(held)},
                   {"limit_bytes", static_cast<int64_t>(parts_.limit)},
                   {"connections", static_cast<int64_t>(closed)}});
}

}  // namespace holdfast
