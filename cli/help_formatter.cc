#include "cli/help_formatter.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <set>

namespace holdfast::cli {
namespace {

constexpr char kNeeds[] = " Needs:";
constexpr char kExcludes[] = " Excludes:";

std::string Names(const std::string& label, const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* option : options) names.insert(option->get_name());
  return names.empty() ? "" : label + " " + absl::StrJoin(names, " ");
}

}  // namespace

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  std::string text = CLI::Formatter::make_option_opts(option);
  text.erase(std::min({text.find(kNeeds), text.find(kExcludes), text.size()}));
  return text + Names(kNeeds, option->get_needs()) + Names(kExcludes, option->get_excludes());
}

}  // namespace holdfast::cli
