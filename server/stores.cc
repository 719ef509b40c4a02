#include "server/stores.h"

#include "store-fs/fs_store.h"

#include <array>
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

absl::StatusOr<std::unique_ptr<SessionStore>> MakeFs(const StoreConfig& config, const Clock& clock,
                                                     Random& random) {
  fs::FsOptions options{.root = config.root,
                        .allow_network_file_system = config.allow_network_file_system};
  if (config.durability == "interval") {
    options.durability = fs::Durability::kInterval;
    options.interval = config.interval;
  }
  return fs::MakeFsStore(std::move(options), clock, random);
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

}  // namespace holdfast
