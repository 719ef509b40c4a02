#include "cli/completion.h"

#include "cli/session_view.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include <map>
#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

// Each shell walks the words before the cursor; those that are commands make up the path, whose
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
# As a file of $fpath this is called to complete; read by a shell it is registered.
if [[ ${funcstack[1]} == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
)";

constexpr char kFish[] = R"(# Completion of holdfast for fish
function __holdfast_words
  set -l before (commandline --tokenize --cut-at-cursor --current-process)
  set -l path holdfast
  set -l words
  for word in $before[2..-1]
    switch "$path $word"
@PATHS@        set path "$path $word"
    end
  end
  switch $path
@WORDS@  end
  switch $before[-1]
@VALUES@  end
  if test -z "$words"
    __fish_complete_path (commandline --current-token)
  else
    string split --no-empty ' ' -- $words
  end
end
complete --command holdfast --no-files --arguments '(__holdfast_words)'
)";

// How a shell says that the words at a path, or behind an option, are these: @AT@ and @THESE@.
struct Shell {
  const char* script;
  const char* case_form;
  const char* paths_form;  // of all paths, which `separator` parts
  const char* separator;
};

constexpr Shell kBashShell = {kBash, "    @AT@) words='@THESE@' ;;\n", "      @PATHS@)\n", "|"};
constexpr Shell kZshShell = {kZsh, "    @AT@) words_here='@THESE@' ;;\n", "      @PATHS@)\n", "|"};
constexpr Shell kFishShell = {kFish, "    case @AT@\n      set words '@THESE@'\n",
                              "      case @PATHS@\n", " "};

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
    if (option->get_name() == "SHELL") words += "bash zsh fish ";
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
  if (option == "--kind") return absl::StrJoin(KindNames(), " ");
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

std::string Case(const Shell& shell, const std::string& at, const std::string& words) {
  return absl::StrReplaceAll(shell.case_form, {{"@AT@", at}, {"@THESE@", words}});
}

void Describe(const CLI::App& command, const std::string& path, const Shell& shell,
              Script& script) {
  script.words += Case(shell, absl::StrCat("'", path, "'"), WordsOf(command));
  NoteValues(command, script);
  for (const CLI::App* below : command.get_subcommands({})) {
    const std::string longer = absl::StrCat(path, " ", below->get_name());
    absl::StrAppend(&script.paths, script.paths.empty() ? "" : shell.separator, "'", longer, "'");
    Describe(*below, longer, shell, script);
  }
}

std::string ScriptFor(const CLI::App& app, const Shell& shell) {
  Script script;
  Describe(app, "holdfast", shell, script);
  std::string values;
  for (const auto& [option, words] : script.values) {
    values += Case(shell, option, words);
  }
  return absl::StrReplaceAll(
      shell.script,
      {{"@PATHS@", absl::StrReplaceAll(shell.paths_form, {{"@PATHS@", script.paths}})},
       {"@WORDS@", script.words},
       {"@VALUES@", values}});
}

}  // namespace

void AddCompletionCommand(CLI::App& app, Invocation& invocation) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Prints a shell script that completes commands and options");
  command->add_option("SHELL", *shell, "Shell: bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  command->footer(
      "Examples:\n  source <(holdfast completion bash)\n"
      "  holdfast completion zsh > \"${fpath[1]}/_holdfast\"\n"
      "  holdfast completion fish > ~/.config/fish/completions/holdfast.fish");
  command->callback([&app, &invocation, shell] {
    invocation.command = [&app, &invocation, shell] {
      const std::map<std::string, Shell> shells = {
          {"bash", kBashShell}, {"zsh", kZshShell}, {"fish", kFishShell}};
      invocation.out << ScriptFor(app, shells.at(*shell));
      return kDone;
    };
  });
}

}  // namespace holdfast::cli
