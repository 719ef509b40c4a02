#include "cli/replay/command.h"

#include "cli/durations.h"
#include "cli/replay/recording.h"
#include "cli/replay/replay.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostRepeats = 1'000'000;

constexpr char kFooter[] =
    R"(FILE holds JSON lines {"id": ..., "messages": [...]} in the OpenAI chat
shape. Each conversation goes into the session ID-RUN, a repeated one into ID-RUN-r2, and so on.
A message is stored byte for byte as it stands in the file; tool calls and results are journal
entries too. A turn ends with the agent's answer.

When the server goes away, calls are repeated under their request ids until --patience is used up.
A replay that was itself interrupted goes on behind the last committed message when it is given the
same --run; it takes the sessions of that run from whoever holds them.

The last line is `N sessions, N turns, N messages, N differences, N reconnects, S s`.
Exits 4 when a stored message differs.

Examples:
  holdfast replay --verify recordings.jsonl
  holdfast replay --run nightly --parallel 8 --pace 20ms --patience 5m recordings.jsonl
  holdfast replay --run nightly --verify-only recordings.jsonl)";

ExitCode ReadAndRun(const Invocation& invocation, const ReplayOptions& options) {
  const absl::StatusOr<std::vector<Conversation>> recordings = ReadRecordings(options.files);
  if (!recordings.ok()) {
    invocation.err << "holdfast: " << recordings.status().message() << '\n';
    return kUsage;
  }
  return Replay(invocation, options, *recordings);
}

void AddWhatToDo(CLI::App& command, ReplayOptions& options) {
  command.add_option("FILE", options.files, "Recorded conversations")->required();
  command
      .add_option("--run", options.run,
                  "The run's name, part of every session id (default: the time)")
      ->type_name("NAME");
  auto* verify = command.add_flag("--verify", options.verify, "Drive, then compare every message");
  command.add_flag("--verify-only", options.verify_only, "Only compare the sessions of --run NAME")
      ->excludes(verify)
      ->needs("--run");
}

void AddHow(CLI::App& command, ReplayOptions& options) {
  command.add_option("--parallel", options.parallel, "How many sessions at a time")
      ->check(CLI::Range(1, kMostThreads).description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--repeat", options.repeat, "How many times each conversation")
      ->check(CLI::Range(1, kMostRepeats).description(""))
      ->type_name("N")
      ->capture_default_str();
  AddDuration(command, "--pace", options.pace, "Pause between the turns of a session");
  AddDuration(command, "--patience", options.patience, "How long to go on without the server");
  command
      .add_option("--log", options.log, "Write every mutation, sent and answered, as JSON lines")
      ->type_name("FILE");
}

}  // namespace

void AddReplayCommand(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "Drives recorded conversations into sessions");
  AddWhatToDo(*command, *options);
  AddHow(*command, *options);
  command->footer(kFooter);
  command->callback([&invocation, options] {
    invocation.command = [&invocation, options] { return ReadAndRun(invocation, *options); };
  });
}

}  // namespace holdfast::cli
