#include "platform/status_macros.h"
#include "server/stores.h"

#include <utility>

namespace holdfast {
namespace {

absl::StatusOr<std::unique_ptr<SessionStore>> OpenOne(const StoreConfig& config,
                                                      const StoreMaker& make, const Clock& clock,
                                                      Random& random) {
  ASSIGN_OR_RETURN(std::unique_ptr<SessionStore> store, make(config, clock, random));
  absl::Status ready = store->Init();
  if (ready.ok() && config.active) ready = store->Activate();
  if (ready.ok()) return store;
  store->Dispose();
  return ready;
}

std::string Diagnostic(const StoreConfig& config, const absl::Status& status) {
  return "store " + config.name + " (" + config.kind + ", " + config.Place() +
         "): " + std::string(status.message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stores>> Stores::Open(const Config& config, const StoreMaker& make,
                                                     const Clock& clock, Random& random, Log& log) {
  auto stores = std::make_unique<Stores>(Key(), log);
  for (const StoreConfig& wanted : config.stores) {
    if (!wanted.enabled) continue;
    auto store = OpenOne(wanted, make, clock, random);
    if (!store.ok()) {
      const std::string diagnostic = Diagnostic(wanted, store.status());
      if (wanted.active) return absl::FailedPreconditionError(diagnostic);
      log.Warn("a store that is not active cannot be opened", {{"problem", diagnostic}});
      stores->warnings_.push_back(diagnostic);
      continue;
    }
    if (wanted.active) stores->active_ = store->get();
    stores->opened_.push_back(*std::move(store));
  }
  for (const std::string& warning : stores->active_->Describe().warnings) {
    log.Warn("what to know of the active store", {{"problem", warning}});
  }
  return stores;
}

void Stores::Deactivate() {
  if (active_ == nullptr) return;
  const absl::Status closed = active_->Deactivate();
  if (!closed.ok()) log_.Error("store close", {{"problem", std::string(closed.message())}});
  active_ = nullptr;
}

void Stores::Close() {
  Deactivate();
  for (const auto& store : opened_) store->Dispose();
  opened_.clear();
}

}  // namespace holdfast
