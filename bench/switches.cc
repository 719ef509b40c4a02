#include "bench/switches.h"

#include "absl/strings/numbers.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

namespace holdfast::bench {
namespace {

// The number in `manifest`, which counts the switches; nothing when it is not readable.
std::optional<uint64_t> NumberIn(const std::filesystem::path& manifest) {
  std::ifstream file(manifest);
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json::json_pointer place("/holdfast/generation");
  if (json.is_discarded() || !json.contains(place) || !json[place].is_string()) return std::nullopt;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(json[place].get<std::string>(), &number)) return std::nullopt;
  return number;
}

}  // namespace

absl::StatusOr<Switches> ReadSwitches(const std::string& root, const std::string& prefix) {
  Switches switches;
  for (const auto& tenant : std::filesystem::directory_iterator(root + "/t")) {
    for (const auto& session : std::filesystem::directory_iterator(tenant.path())) {
      const std::string name = session.path().filename();
      if (!name.starts_with(prefix)) continue;
      const auto number = NumberIn(session.path() / "manifest.json");
      if (!number) return absl::UnavailableError("cannot read the manifest of session " + name);
      switches[name] = *number;
    }
  }
  return switches;
}

uint64_t FewestBetween(const Switches& before, const Switches& after) {
  uint64_t fewest = before.empty() ? 0 : std::numeric_limits<uint64_t>::max();
  for (const auto& [name, number] : before) {
    const auto now = after.find(name);
    fewest = std::min(fewest, now == after.end() ? 0 : now->second - number);
  }
  return fewest;
}

}  // namespace holdfast::bench
