// Keeps the process from being ended for lack of memory by what no call has asked for.
#ifndef HOLDFAST_SERVER_MEMORY_GUARD_H_
#define HOLDFAST_SERVER_MEMORY_GUARD_H_

#include "server/log.h"
#include "server/net/connection_table.h"
#include "server/net/descriptor.h"
#include "server/net/unbegun_bytes.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// Whether a server guards its memory. A sanitizer's own would be taken for the server's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryIsGuarded = false;
#else
inline constexpr bool kMemoryIsGuarded = true;
#endif

// The memory of this process. A test has one of its own.
class ProcessMemory {
 public:
  ProcessMemory();
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;
  virtual ~ProcessMemory() = default;
  // Bytes that no file backs, as the kernel counts them. 0 when it does not say.
  [[nodiscard]] virtual size_t Held() const;
  // Resident bytes, those of files included. 0 when the kernel does not say. Any thread may call.
  [[nodiscard]] size_t Resident() const { return Read().resident; }
  // Gives back to the kernel what is allocated no more.
  virtual void ReleaseFree();

 private:
  // Both 0 when the kernel does not say.
  struct Bytes {
    size_t resident = 0;
    size_t shared = 0;  // of them, those that a file backs
  };
  [[nodiscard]] Bytes Read() const;

  // Stays open: it is read also when the process has no descriptor left.
  const Descriptor statm_;
};

// A call begins, and counts in the memory budget, when its request has arrived whole. What arrives
// before is the transport's, and bounded by nothing. So the process itself is looked at: when it
// holds more than `limit`, the connections that sent most without a call are closed. When none of
// them is left and it does not help within kMemoryBeatsOver looks, all are closed. A client
// connects again and repeats its request under the same request id.
//
// For one thread, which calls Look every kMemoryBeat.
class MemoryGuard final {
 public:
  struct Parts {
    size_t limit = 0;  // bytes
    ProcessMemory& memory;
    ConnectionTable& connections;
    UnbegunBytes& unbegun;
    Log& log;
  };
  explicit MemoryGuard(Parts parts) : parts_(parts) {}

  void Look();

  // Any thread may call these two. What the process held at the last look, in bytes.
  [[nodiscard]] size_t held() const { return held_; }
  // How many connections were closed so far.
  [[nodiscard]] uint64_t closed() const { return closed_; }

 private:
  void Close(size_t held);

  const Parts parts_;
  int looks_over_ = 0;
  std::atomic<size_t> held_ = 0;
  std::atomic<uint64_t> closed_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_GUARD_H_
