#include "cli/help_formatter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

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
  // What the library takes for a fixed number of words is any number of them.
  const std::string times = absl::StrCat(" x ", option->get_expected_min());
  if (text.ends_with(times)) text.replace(text.size() - times.size(), times.size(), " ...");
  return text + Names(kNeeds, option->get_needs()) + Names(kExcludes, option->get_excludes());
}

std::string HelpFormatter::make_option_usage(const CLI::Option* option) const {
  const std::string times = absl::StrCat("(", option->get_expected_min(), "x)");
  return absl::StrReplaceAll(CLI::Formatter::make_option_usage(option), {{times, "..."}});
}

}  // namespace holdfast::cli
