// The table of docs/config.md has every key, and its ranges are those that a start enforces.
#include "server/config.h"
#include "server/quantities.h"
#include "tests/golden/config_page.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "yaml-cpp/yaml.h"

#include <optional>
#include <set>
#include <string>

namespace holdfast::test {
namespace {

// A configuration in which the key has the value; one of a store is that of a valid store.
std::string ConfigWith(const std::string& path, const std::string& value) {
  const std::string section = path.substr(0, path.find_first_of("[."));
  const std::string name = path.substr(path.find('.') + 1);
  if (section != "stores") return absl::StrCat(section, ": {", name, ": ", value, "}\n");
  const bool database = name == "connections" || name == "group";
  return absl::StrCat(
      "stores: [{name: a, active: true, ",
      database ? "kind: postgres, dsn: 'host=/run dbname=a', " : "root: /a, durability: interval, ",
      name, ": ", value, "}]\n");
}

std::string ProblemOf(const std::string& path, const std::string& value) {
  const auto config = ParseConfig(ConfigWith(path, value), {.home = "/home/ada"});
  return config.ok() ? "" : std::string(config.status().message());
}

// The next value beyond a bound, in the bound's own kind; nothing below 0.
std::optional<std::string> Beyond(const ConfigKey& key, const std::string& bound, int step) {
  const std::string type = key.type;
  if (type == "duration") {
    const absl::Duration value = *ParseDuration(bound) + step * absl::Milliseconds(1);
    if (value < absl::ZeroDuration()) return std::nullopt;
    return value == absl::ZeroDuration() ? "0s"
                                         : absl::StrCat(absl::ToInt64Milliseconds(value), "ms");
  }
  if (type == "number") return absl::StrCat(*ParseNumber(bound) + step * 0.5);
  if (type.starts_with("size")) return absl::StrCat(*ParseSize(bound) + step, "B");
  int64_t count = 0;
  EXPECT_TRUE(absl::SimpleAtoi(bound, &count)) << key.path;
  return absl::StrCat(count + step);
}

TEST(ConfigRange, IsWhatAStartEnforces) {
  int bounds = 0;
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string path = key.path;
    const std::string shown = absl::StrReplaceAll(path, {{"[]", "[0]"}});
    for (const auto& [bound, step] : {std::pair(key.least, -1), std::pair(key.most, 1)}) {
      if (bound.empty()) continue;
      EXPECT_EQ(ProblemOf(path, bound), "") << path << " " << bound;
      const std::optional<std::string> beyond = Beyond(key, bound, step);
      if (!beyond) continue;
      EXPECT_NE(ProblemOf(path, *beyond).find(shown), std::string::npos)
          << path << " takes " << *beyond;
      ++bounds;
    }
  }
  EXPECT_GT(bounds, 30);
}

TEST(ConfigRange, TheTableHasEveryKey) {
  std::set<std::string> listed;
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_TRUE(listed.insert(key.path).second) << key.path << " is listed twice";
  }
  Config config = DefaultConfig({.home = "/home/ada"});
  config.stores[0].durability = "interval";
  config.stores[0].interval = absl::Seconds(1);
  StoreConfig database;
  database.kind = "postgres";
  database.password = "env:A";
  config.stores.push_back(database);
  std::set<std::string> printed;
  for (const auto& section : YAML::Load(PrintConfig(config))) {
    const auto name = section.first.as<std::string>();
    if (section.second.IsMap()) {
      for (const auto& key : section.second) {
        printed.insert(absl::StrCat(name, ".", key.first.as<std::string>()));
      }
    }
    if (!section.second.IsSequence()) continue;
    for (const auto& entry : section.second) {
      for (const auto& key : entry) {
        printed.insert(absl::StrCat(name, "[].", key.first.as<std::string>()));
      }
    }
  }
  EXPECT_EQ(listed, printed);
}

}  // namespace
}  // namespace holdfast::test
