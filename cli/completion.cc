#include "cli/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

// Both shells walk the words before the cursor; those that are commands make up the path, whose
// words are offered. Where nothing is known, for example behind an option, files are.
constexpr char kBash[] = R"(# Completion of holdfast for bash: source <(holdfast completion bash)
_holdfast() {
  local current=${COMP_WORDS[COMP_CWORD]} path=holdfast word words
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
@PATHS@      path="$path $word" ;;
    esac
  done
  case $path in
@WORDS@  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdfast holdfast
)";

constexpr char kZsh[] = R"(#compdef holdfast
# Completion of holdfast for zsh: source <(holdfast completion zsh)
_holdfast() {
  local path_so_far=holdfast word words_here
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "$path_so_far $word" in
@PATHS@      path_so_far="$path_so_far $word" ;;
    esac
  done
  case $path_so_far in
@WORDS@  esac
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
      if (name.rfind("--", 0) == 0 && words.find(name + " ") == std::string::npos) {
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
};

void Describe(const CLI::App& command, const std::string& path, const Shell& shell,
              Script& script) {
  absl::StrAppend(&script.words, "    '", path, "') ", shell.words_variable, "='", WordsOf(command),
                  "' ;;\n");
  for (const CLI::App* below : command.get_subcommands({})) {
    const std::string longer = absl::StrCat(path, " ", below->get_name());
    absl::StrAppend(&script.paths, script.paths.empty() ? "" : "|", "'", longer, "'");
    Describe(*below, longer, shell, script);
  }
}

std::string ScriptFor(const CLI::App& app, const Shell& shell) {
  Script script;
  Describe(app, "holdfast", shell, script);
  return absl::StrReplaceAll(
      shell.script,
      {{"@PATHS@", absl::StrCat("      ", script.paths, ")\n")}, {"@WORDS@", script.words}});
}

}  // namespace

void AddCompletionCommand(CLI::App& app, Invocation& invocation) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Prints a script that completes commands");
  command->add_option("SHELL", *shell, "bash or zsh")
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
