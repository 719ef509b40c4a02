// The table of docs/config.md: every key of the configuration with its type, default and range.
#ifndef HOLDFAST_TESTS_GOLDEN_CONFIG_PAGE_H_
#define HOLDFAST_TESTS_GOLDEN_CONFIG_PAGE_H_

#include <string>
#include <vector>

namespace holdfast::test {

struct ConfigKey {
  const char* path;  // "server.workers", "stores[].root"
  const char* type;
  std::string least;  // both included, as the configuration writes them; empty: no bound
  std::string most;
  const char* meaning;
};

std::vector<ConfigKey> ConfigKeys();

// The value that an absent key has, as --print-config writes it; empty when it has none.
std::string DefaultOf(const ConfigKey& key);

// The Markdown table of all keys.
std::string ConfigTable();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_GOLDEN_CONFIG_PAGE_H_
