// What a replay has done, counted by all its threads.
#ifndef HOLDFAST_CLI_REPLAY_TALLY_H_
#define HOLDFAST_CLI_REPLAY_TALLY_H_

#include <atomic>
#include <cstdint>

namespace holdfast::cli {

struct Tally {
  std::atomic<uint64_t> sessions = 0;
  std::atomic<uint64_t> turns = 0;
  std::atomic<uint64_t> messages = 0;
  std::atomic<uint64_t> differences = 0;
  // Calls that found the server gone, or silent, and came through later.
  std::atomic<uint64_t> reconnects = 0;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_TALLY_H_
