// Strict reading of YAML: every key must be known and every value must have its type. What is wrong
// is collected, each with its path and line, so that an operator sees all of it at once.
//
//   reader.Map(node, "server", {{"address", reader.Text(config.address)},
//                               {"workers", reader.Count(config.workers)}});
#ifndef HOLDFAST_SERVER_YAML_READER_H_
#define HOLDFAST_SERVER_YAML_READER_H_

#include "absl/time/time.h"
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// Used by one thread. What a reading function fills must outlive the call of it.
class YamlReader {
 public:
  // Takes the value at a path.
  using Read = std::function<void(const YAML::Node& node, const std::string& path)>;
  struct Field {
    std::string_view key;
    Read read;
  };

  enum class Unknown : uint8_t { kRefuse, kIgnore };

  // Reads a mapping: each key must be one of `fields`, unless unknown ones are ignored, and given
  // once. An empty value is an empty mapping.
  void Map(const YAML::Node& node, const std::string& path, std::initializer_list<Field> fields,
           Unknown unknown = Unknown::kRefuse);
  // Reads a sequence, element by element.
  void Sequence(const YAML::Node& node, const std::string& path, const Read& element);

  // Each makes a function that fills `out` from a scalar of its type and leaves it alone otherwise.
  Read Text(std::string& out);
  Read Flag(bool& out);
  Read Count(size_t& out);
  Read Number(double& out);
  Read Duration(absl::Duration& out);
  Read Size(size_t& out);

  // Notes that the value at `path` is wrong.
  void Refuse(const YAML::Node& node, const std::string& path, std::string_view why);

  // Notes that the value at `path`, which was read, is wrong: with its line, or that of the nearest
  // value around it. Nothing where this value, or one around it, was refused before.
  void RefuseValue(const std::string& path, std::string_view why);

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  void NoteLine(const std::string& path, const YAML::Node& node);

  std::map<std::string, int> lines_;  // of paths that were read
  std::set<std::string> refused_;
  std::vector<std::string> problems_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_YAML_READER_H_
