// What is too dear for a scrape to find out, looked at on a beat of its own.
#ifndef HOLDFAST_SERVER_TELEMETRY_RESOURCE_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_RESOURCE_METRICS_H_

#include "platform/clock.h"
#include "server/memory_guard.h"
#include "server/periodic.h"
#include "server/telemetry/metrics.h"

#include "absl/time/time.h"

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace holdfast {

// How often the process and the file system are looked at.
inline constexpr absl::Duration kResourceBeat = absl::Seconds(9);

// Looks once when it is made, then every kResourceBeat on a thread of its own. What cannot be found
// out is not shown.
class ResourceMetrics final {
 public:
  struct Parts {
    Metrics& metrics;
    Random& random;
    const ProcessMemory& memory;
    // Of the files of the active store; empty: it has none.
    std::string root;
    // Called on the thread; must not throw.
    std::function<void()> more;
  };
  // Gives `parts.metrics` its readers, so no scrape may have begun; the last one ends before this
  // does.
  explicit ResourceMetrics(Parts parts);
  ResourceMetrics(const ResourceMetrics&) = delete;
  ResourceMetrics& operator=(const ResourceMetrics&) = delete;
  ~ResourceMetrics() = default;

 private:
  using Value = std::atomic<double>;
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  void Look();
  void LookAtProcess();
  void LookAtFiles();

  const Parts parts_;
  Value resident_ = kUnknown;     // bytes
  Value cpu_ = kUnknown;          // seconds
  Value descriptors_ = kUnknown;  // open
  Value threads_ = kUnknown;
  Value files_size_ = kUnknown;       // bytes
  Value files_available_ = kUnknown;  // bytes
  std::unique_ptr<Periodic> beat_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_RESOURCE_METRICS_H_
