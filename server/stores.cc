#include "server/stores.h"

#include <array>
#include <string_view>

namespace holdfast {
namespace {

// A maker of one kind.
struct Kind {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<SessionStore>> (*make)(const StoreConfig& config,
                                                        const Clock& clock, Random& random);
};

// Every kind that is built in: one row each, and nothing registers itself.
constexpr std::array<Kind, 0> kKinds = {};

}  // namespace

absl::StatusOr<std::unique_ptr<SessionStore>> MakeStore(const StoreConfig& config,
                                                        const Clock& clock, Random& random) {
  for (const Kind& kind : kKinds) {
    if (kind.name == config.kind) return kind.make(config, clock, random);
  }
  return absl::InvalidArgumentError("there is no store of this kind in this server");
}

}  // namespace holdfast
