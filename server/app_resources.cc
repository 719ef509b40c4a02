// What of the machine the server uses, and how it watches that.
#include "holdfast/version.h"
#include "server/app.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

namespace holdfast {

// While as many workers as there are cores want one, no other call is begun: it would only take the
// core from the transport, which must still refuse what is too much.
size_t App::Cores() const { return parts_.container.Cores(std::thread::hardware_concurrency()); }

size_t App::MemoryBudget() const {
  return parts_.config.limits.memory_budget.value_or(parts_.container.MemoryBudget());
}

void App::LogStart() {
  const size_t budget = MemoryBudget();
  const size_t limit = parts_.container.ProcessLimit(budget);
  const std::optional<size_t> memory = parts_.container.memory_bytes;
  const StoreDescription store = stores_->active().Describe();
  // Of a container without a limit null.
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  parts_.log.Info("serving", {{"address", address_},
                              {"version", std::string(kVersion)},
                              {"store", parts_.config.ActiveStore().name},
                              {"kind", store.kind},
                              {"store_id", store.store.value()},
                              {"pid", static_cast<int64_t>(getpid())},
                              {"cores", static_cast<int64_t>(Cores())},
                              {"container_cores", parts_.container.cores.value_or(kNone)},
                              {"container_bytes", memory ? static_cast<double>(*memory) : kNone},
                              {"memory_budget_bytes", static_cast<int64_t>(budget)},
                              {"process_limit_bytes", static_cast<int64_t>(limit)}});
  if (!memory || budget <= *memory / 2) return;
  parts_.log.Warn(
      "limits.memory_budget is more than half of the container's memory: under load the memory "
      "guard closes connections; lower it, or raise the container's limit",
      {{"memory_budget_bytes", static_cast<int64_t>(budget)},
       {"container_bytes", static_cast<int64_t>(*memory)}});
}

void App::LookAtMemory() { memory_guard_->Look(); }

void App::LookAtWorkers() {
  stall_->Look(pool_->CurrentActivity(), parts_.clock.SinceBoot());
  health_->NotifyLiveness();
  const bool stalled = stall_->Stalled(parts_.clock.SinceBoot());
  if (stalled == stalled_) return;
  stalled_ = stalled;
  if (stalled) {
    parts_.log.Error("no worker makes progress while calls wait: a restart would help",
                     {{"queued_calls", static_cast<int64_t>(pool_->CurrentLoad().queued)}});
  } else {
    parts_.log.Info("the workers make progress again", {});
  }
}

ResourceUse App::Resources() {
  return {.calls = admission_->InProgress(),
          .memory_bytes = admission_->HeldBytes(),
          .staged_bytes = staged_->Reserved(),
          .streams = streams_->Count(),
          .watchers = watches_->Count(),
          .connections = connections_->size()};
}

}  // namespace holdfast
