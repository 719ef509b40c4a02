#include "cli/completion.h"

#include "cli/session_view.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include <map>
#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

// Both shells walk the words before the cursor; those that are commands make up the path, whose
// words are offered. Behind an option that takes a value its values are, and where those are not
// known, files.
constexpr char kBash[] = R"(# Completion of holdfast for bash: source <(holdfast completion bash)
_holdfast() {
  local current=${COMP_WORDS[COMP_CWORD]} path=holdfast word words
  local before=${COMP_WORDS[COMP_CWORD-1]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
@PATHS@      path="$path $word" ;;
    esac
  done
  case $path in
@WORDS@  esac
  case $before in
@VALUES@  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdfast holdfast
)";

constexpr char kZsh[] = R"(#compdef holdfast
# Completion of holdfast for zsh: source <(holdfast completion zsh)
_holdfast() {
  local path_so_far=holdfast word words_here before=${words[CURRENT-1]}
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "$path_so_far $word" in
@PATHS@      path_so_far="$path_so_far $word" ;;
    esac
  done
  case $path_so_far in
@WORDS@  esac
  case $before in
@VALUES@  esac
  compadd -- ${=words_here} || _files
}
compdef _holdfast holdfast
)";

struct Shell {
  const char* script;
  const char* words_variable;
};

// What may stand behind `command`: its subcommands and options, and the options of those above it.
std::string WordsOf(const CLI::App& command) {
  std::string words;
  for (const CLI::App* below : command.get_subcommands({})) {
    absl::StrAppend(&words, below->get_name(), " ");
  }
  for (const CLI::App* level = &command; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      const std::string name = option->get_name();
      if (name.starts_with("--") && words.find(name + " ") == std::string::npos) {
        absl::StrAppend(&words, name, " ");
      }
    }
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_name() == "SHELL") words += "bash zsh ";
  }
  return words;
}

struct Script {
  std::string paths;
  std::string words;
  std::map<std::string, std::string> values;  // of options that take one, by their names
};

// The values that an option may have; empty where they cannot be listed.
std::string ValuesOf(const std::string& option) {
  if (option == "--output") return "table json jsonl";
  if (option == "--color") return "auto always never";
  if (option == "--state") return absl::StrJoin(StateNames(), " ");
  if (option == "--reason") return "user parent cap";
  return "";
}

void NoteValues(const CLI::App& command, Script& script) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool takes_a_value = option->get_items_expected_max() > 0;
    if (name.starts_with("--") && takes_a_value) script.values[name] = ValuesOf(name);
  }
}

void Describe(const CLI::App& command, const std::string& path, const Shell& shell,
              Script& script) {
  absl::StrAppend(&script.words, "    '", path, "') ", shell.words_variable, "='", WordsOf(command),
                  "' ;;\n");
  NoteValues(command, script);
  for (const CLI::App* below : command.get_subcommands({})) {
    const std::string longer = absl::StrCat(path, " ", below->get_name());
    absl::StrAppend(&script.paths, script.paths.empty() ? "" : "|", "'", longer, "'");
    Describe(*below, longer, shell, script);
  }
}

std::string ScriptFor(const CLI::App& app, const Shell& shell) {
  Script script;
  Describe(app, "holdfast", shell, script);
  std::string values;
  for (const auto& [option, words] : script.values) {
    absl::StrAppend(&values, "    ", option, ") ", shell.words_variable, "='", words, "' ;;\n");
  }
  return absl::StrReplaceAll(shell.script,
                             {{"@PATHS@", absl::StrCat("      ", script.paths, ")\n")},
                              {"@WORDS@", script.words},
                              {"@VALUES@", values}});
}

}  // namespace

void AddCompletionCommand(CLI::App& app, Invocation& invocation) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Prints a shell script that completes commands and options");
  command->add_option("SHELL", *shell, "Shell: bash or zsh")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}).description(""));
  command->footer(
      "Examples:\n  source <(holdfast completion bash)\n"
      "  holdfast completion zsh > \"${fpath[1]}/_holdfast\"");
  command->callback([&app, &invocation, shell] {
    invocation.command = [&app, &invocation, shell] {
      const bool bash = *shell == "bash";
      invocation.out << ScriptFor(app, bash ? Shell{kBash, "words"} : Shell{kZsh, "words_here"});
      return kDone;
    };
  });
}

}  // namespace holdfast::cli
