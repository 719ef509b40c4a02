// Writers without a server: one thread each, until a count is reached.
#ifndef HOLDFAST_BENCH_THREADS_H_
#define HOLDFAST_BENCH_THREADS_H_

#include "bench/closed_loop.h"
#include "platform/status_macros.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::bench {

// What one thread did with its share of the count.
struct Share {
  absl::Status status;
  std::vector<double> latencies_ms;
};

// Commits with `writer` while `left` lasts, or until one fails.
template <typename Writer>
Share CommitShare(Writer& writer, std::atomic<int64_t>& left) {
  Share share;
  while (share.status.ok() && left.fetch_sub(1) > 0) {
    const auto begin = std::chrono::steady_clock::now();
    share.status = writer.Commit();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    share.latencies_ms.push_back(took.count());
  }
  return share;
}

// `count` commits, shared by the writers as they come; each has an own thread.
template <typename Writer>
absl::StatusOr<Round> CommitInThreads(const std::vector<std::unique_ptr<Writer>>& writers,
                                      uint64_t count) {
  std::atomic<int64_t> left(static_cast<int64_t>(count));
  std::vector<Share> shares(writers.size());
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    threads.reserve(writers.size());
    for (size_t at = 0; at < writers.size(); ++at) {
      threads.emplace_back([&, at] { shares[at] = CommitShare(*writers[at], left); });
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::vector<double> latencies;
  for (const Share& share : shares) {
    RETURN_IF_ERROR(share.status);
    latencies.insert(latencies.end(), share.latencies_ms.begin(), share.latencies_ms.end());
  }
  return Summarise(count, took.count(), std::move(latencies));
}

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_THREADS_H_
