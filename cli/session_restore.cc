#include "cli/session_restore.h"

#include "cli/durations.h"
#include "cli/json.h"
#include "cli/request_id.h"
#include "cli/session_calls.h"
#include "cli/text.h"

#include "CLI/CLI.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::cli {
namespace {

struct RestoreOptions {
  Target target;
  std::string token;
  uint64_t revision = 0;  // 0: the current one
  std::optional<uint64_t> messages;
  uint64_t drop_last = 0;
  std::string checkpoint;
  bool pins_previous = false;
};

v1::RestoreSessionRequest RestoreRequest(const RestoreOptions& options,
                                         const v1::Session& session) {
  v1::RestoreSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(session.session_id());
  request.set_session_uid(session.session_uid());
  request.set_lease_token(options.token);
  request.set_expected_revision(session.revision());
  v1::RestorePoint& point = *request.mutable_point();
  point.set_revision(static_cast<int64_t>(options.revision));
  point.set_checkpoint(options.checkpoint);
  request.set_pin_previous(options.pins_previous);
  if (options.messages) point.set_messages(static_cast<int64_t>(*options.messages));
  if (options.drop_last > 0) point.set_drop_last(static_cast<int64_t>(options.drop_last));
  return request;
}

std::string Messages(int64_t count) {
  return std::to_string(count) + (count == 1 ? " message" : " messages");
}

std::string RestoredSentence(const v1::Session& before, const v1::RestoreSessionResponse& reply) {
  const std::string revision = std::to_string(reply.revision());
  if (reply.revision() == before.revision()) {
    return "is so already, at revision " + revision + "; nothing was written";
  }
  std::string text =
      "is restored as revision " + revision + ", with " + Messages(reply.message_count());
  if (reply.removed_message_count() > 0) {
    text += "; " + Messages(reply.removed_message_count()) + " removed";
  }
  return text;
}

ExitCode RunRestore(const SessionCommand& command, const RestoreOptions& options) {
  return command.Run([&](const SessionCalls& calls) {
    v1::Session session;
    grpc::Status status = calls.Get(options.target, session);
    if (!status.ok()) return status;
    v1::RestoreSessionResponse reply;
    status = calls.Send(&Sessions::RestoreSession, RestoreRequest(options, session), reply);
    if (!status.ok()) return status;
    const Invocation& invocation = command.invocation();
    if (invocation.json()) {
      nlohmann::ordered_json object = ToJson(reply);
      object["session_id"] = session.session_id();
      WriteJson(invocation, object);
    } else if (!invocation.quiet) {
      invocation.out << Printable(session.session_id()) << ' ' << RestoredSentence(session, reply)
                     << '\n';
    }
    return status;
  });
}

}  // namespace

void AddRestore(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<RestoreOptions>();
  CLI::App* restore =
      session.add_subcommand("restore", "Takes a session back to a point of its past");
  AddTarget(*restore, options->target);
  AddCount(*restore, "--revision", options->revision,
           "Restore the history and slots of this revision; the default is the current one")
      ->type_name("R");
  restore
      ->add_option("--checkpoint", options->checkpoint,
                   "Restore those of the checkpoint of this name")
      ->type_name("NAME")
      ->excludes("--revision");
  restore->add_flag("--pin-previous", options->pins_previous,
                    "Keep the last snapshot as a checkpoint of kind before_restore");
  const auto messages = std::make_shared<uint64_t>(0);
  auto* keep = AddCount(*restore, "--messages", *messages,
                        "Keep only the first N messages of that history; 0 keeps none");
  AddCount(*restore, "--drop-last", options->drop_last,
           "Leave out the last N messages of that history")
      ->excludes(keep);
  restore
      ->add_option("--token", options->token,
                   "Lease token from `session resume`; a session of kind open takes none")
      ->type_name("TOKEN");
  restore->footer(
      "What is there now stays readable at its revision, and can be restored itself, as long as\n"
      "retention.snapshots keeps it, or for good with --pin-previous. Attributes, items, events "
      "and the audit chain stay.\n"
      "\nExamples:\n"
      "  holdfast session restore 4f1c2d3e --revision \"$revision\" --token \"$token\"\n"
      "  holdfast session restore 4f1c2d3e --drop-last 2 --token \"$token\"\n"
      "  holdfast session restore shared --messages 0   # clears the history");
  restore->callback([command, options, messages, keep] {
    if (keep->count() > 0) options->messages = *messages;
    const bool has_point = options->revision != 0 || !options->checkpoint.empty();
    if (!has_point && !options->messages && options->drop_last == 0) {
      throw CLI::RequiredError("--revision, --checkpoint, --messages or --drop-last");
    }
    command->invocation().command = [command, options] { return RunRestore(*command, *options); };
  });
}

}  // namespace holdfast::cli
