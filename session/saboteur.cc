#include "session/saboteur.h"

#include <cstdlib>
#include <string_view>
#include <utility>

namespace holdfast {

// The one source that is compiled differently for a release.
#ifdef HOLDFAST_SABOTEURS

namespace {

constexpr std::pair<std::string_view, Saboteur> kSaboteurNames[] = {
    {"", Saboteur::kNone},
    {"no_bounds", Saboteur::kNoBounds},
    {"one_step_behind", Saboteur::kOneStepBehind},
};

Saboteur FromEnvironment() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  const char* set = std::getenv("HOLDFAST_SABOTEUR");
  const std::string_view wanted = set == nullptr ? "" : set;
  for (const auto& [name, saboteur] : kSaboteurNames) {
    if (name == wanted) return saboteur;
  }
  std::abort();
}

}  // namespace

const bool kTestBuild = true;

Saboteur ActiveSaboteur() {
  static const Saboteur kActive = FromEnvironment();
  return kActive;
}

#else

const bool kTestBuild = false;

Saboteur ActiveSaboteur() { return Saboteur::kNone; }

#endif  // HOLDFAST_SABOTEURS

}  // namespace holdfast
