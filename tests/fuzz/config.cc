// Bytes as a configuration. What is taken is printed as what loads back unchanged.
#include "server/config.h"

#include "tests/fuzz/targets.h"

#include <string>

namespace holdfast::fuzz {

void Config(std::string_view bytes) {
  const Environment home = {.home = "/user"};
  const auto config = ParseConfig(std::string(bytes), home);
  if (!config.ok()) {
    Require(!config.status().message().empty(), "a configuration is refused without a word");
    return;
  }
  const auto again = ParseConfig(PrintConfig(*config), home);
  Require(again.ok(), "what is printed is refused");
  Require(*again == *config, "what is printed loads back as something else");
}

}  // namespace holdfast::fuzz
