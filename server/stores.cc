#include "server/stores.h"

#include "session/status_macros.h"
#include "store-fs/fs_store.h"

#include <array>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

// A maker of one kind.
struct Kind {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<SessionStore>> (*make)(const StoreConfig& config,
                                                        const Clock& clock, Random& random);
};

fs::FsOptions FsOptionsOf(const StoreConfig& config) {
  fs::FsOptions options{.root = config.root,
                        .allow_network_file_system = config.allow_network_file_system};
  if (config.durability == "interval") {
    options.durability = fs::Durability::kInterval;
    options.interval = config.interval;
  }
  options.report = [](const std::string& cause) {
    std::cerr << "holdfastd: the store stops: " << cause
              << std::endl;  // NOLINT(performance-avoid-endl): the process is about to end
  };
  return options;
}

absl::StatusOr<std::unique_ptr<SessionStore>> MakeFs(const StoreConfig& config, const Clock& clock,
                                                     Random& random) {
  return fs::MakeFsStore(FsOptionsOf(config), clock, random);
}

// Every kind that is built in: one row each, and nothing registers itself.
constexpr std::array<Kind, 1> kKinds = {{{"fs", MakeFs}}};

}  // namespace

absl::StatusOr<std::unique_ptr<SessionStore>> MakeStore(const StoreConfig& config,
                                                        const Clock& clock, Random& random) {
  for (const Kind& kind : kKinds) {
    if (kind.name == config.kind) return kind.make(config, clock, random);
  }
  return absl::InvalidArgumentError("there is no store of this kind in this server");
}

absl::StatusOr<StoreDescription> AdoptStore(const Config& config, const Clock& clock,
                                            Random& random) {
  fs::FsOptions options = FsOptionsOf(config.ActiveStore());
  options.adopt = true;
  const std::unique_ptr<SessionStore> store = fs::MakeFsStore(std::move(options), clock, random);
  RETURN_IF_ERROR(store->Init());
  StoreDescription description = store->Describe();
  RETURN_IF_ERROR(store->Deactivate());
  store->Dispose();
  return description;
}

}  // namespace holdfast
