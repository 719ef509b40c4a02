#include "cli/replay/command.h"

#include "cli/durations.h"
#include "cli/replay/recording.h"
#include "cli/replay/replay.h"

#include "CLI/CLI.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostRepeats = 1'000'000;

constexpr char kReplayFooter[] =
    R"(FILE has one JSON object per line, {"id": ..., "messages": [...]}, in the OpenAI chat shape.
Each conversation is written to the session ID-RUN; repetitions are written to ID-RUN-r2, ID-RUN-r3
and so on. A message is stored byte for byte as it is in the file; tool calls and results are
journal entries too. A turn ends with the agent's answer.

While the server cannot be reached, calls are retried under their request ids until --patience has
passed; then the sessions that have not begun are left out. An interrupted replay continues behind
the last committed message when it is run again with the same --run; it takes over the leases of the
sessions of that run.

The last line is `N sessions, N turns, N messages, N differences, N reconnects, S s`; --quiet
omits it. Exits with 4 when a stored message differs.

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
  command.add_option("FILE", options.files, "File of recorded conversations")
      ->type_name("")
      ->required();
  command
      .add_option("--run", options.run,
                  "Name of the run, part of every session id (default: the time)")
      ->type_name("NAME");
  auto* verify = command.add_flag("--verify", options.verify,
                                  "Compare every stored message with the recording afterwards");
  command
      .add_flag("--verify-only", options.verify_only,
                "Write nothing; compare the sessions of --run NAME with the recording")
      ->excludes(verify)
      ->needs("--run");
}

void AddHow(CLI::App& command, ReplayOptions& options) {
  command
      .add_option("--parallel", options.parallel,
                  "Number of sessions that are written at the same time")
      ->check(CLI::Range(1, kMostThreads).description(""))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--repeat", options.repeat,
                  "Number of sessions that each conversation is written to")
      ->check(CLI::Range(1, kMostRepeats).description(""))
      ->type_name("N")
      ->capture_default_str();
  AddDuration(command, "--pace", options.pace, "Pause between two turns of a session");
  AddDuration(command, "--patience", options.patience,
              "How long to retry while the server cannot be reached");
  command
      .add_option("--log", options.log,
                  "Write every changing call and its answer to this file, as JSON lines")
      ->type_name("FILE");
}

}  // namespace

void AddReplayCommand(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "Writes recorded conversations to sessions");
  AddWhatToDo(*command, *options);
  AddHow(*command, *options);
  command->footer(kReplayFooter);
  command->callback([&invocation, options] {
    invocation.command = [&invocation, options] { return ReadAndRun(invocation, *options); };
  });
}

}  // namespace holdfast::cli
