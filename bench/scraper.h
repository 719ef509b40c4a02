// Scrapes a server's metrics once a second, as Prometheus would at its shortest interval.
#ifndef HOLDFAST_BENCH_SCRAPER_H_
#define HOLDFAST_BENCH_SCRAPER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace holdfast::bench {

// Scrapes from its making to its end, on a thread of its own.
class Scraper final {
 public:
  // Of the endpoint at `port` of this machine.
  explicit Scraper(uint16_t port);
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;
  ~Scraper() = default;

  // Scrapes that were answered with metrics.
  [[nodiscard]] uint64_t scrapes() const { return scrapes_; }

 private:
  const uint16_t port_;
  std::atomic<uint64_t> scrapes_ = 0;
  std::jthread thread_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_SCRAPER_H_
