#include "cli/session_commands.h"

#include "cli/durations.h"
#include "cli/file_stream.h"
#include "cli/json.h"
#include "cli/recovery_report.h"
#include "cli/request_id.h"
#include "cli/session_calls.h"
#include "cli/session_checkpoints.h"
#include "cli/session_command.h"
#include "cli/session_lists.h"
#include "cli/session_restore.h"
#include "cli/session_tail.h"
#include "cli/session_view.h"
#include "cli/text.h"
#include "cli/times.h"

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr char kTokenHelp[] = "Lease token from `session resume`; required while the lease is live";

// Says what became of a session, unless only data is wanted.
void WriteConfirmation(const Invocation& invocation, const std::string& id,
                       const std::string& sentence) {
  if (!invocation.quiet) invocation.out << Printable(id) << ' ' << Printable(sentence) << '\n';
}

// --- show ---------------------------------------------------------------------------------------

ExitCode RunShow(const SessionCommand& command, const Target& target) {
  return command.RunOn(target, [&](const SessionCalls& calls, const std::string& id) {
    v1::Session session;
    grpc::Status status = calls.Get({.session_id = id}, session);
    if (!status.ok()) return status;
    if (command.invocation().json()) {
      WriteJson(command.invocation(), ToJson(session));
    } else {
      WriteSession(command.invocation().out, session);
    }
    return status;
  });
}

void AddShow(CLI::App& session, const SessionCommandPtr& command) {
  const auto target = std::make_shared<Target>();
  CLI::App* show =
      session.add_subcommand("show", "Shows the state, revision, lease and turn of a session");
  AddTarget(*show, *target);
  show->footer(
      "Examples:\n  holdfast session show 4f1c2d3e\n"
      "  holdfast session show --latest \"$PWD\"");
  show->callback([command, target] {
    command->invocation().command = [command, target] { return RunShow(*command, *target); };
  });
}

// --- tail ---------------------------------------------------------------------------------------

void AddTail(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<TailOptions>();
  CLI::App* tail =
      session.add_subcommand("tail", "Prints the events of a session as they become durable");
  AddTarget(*tail, options->target);
  auto* from = AddCount(*tail, "--from", options->from,
                        "Begin with this event; the default is the oldest that is kept");
  from->type_name("SEQ");
  tail->add_option("--cursor", options->cursor,
                   "Continue behind an earlier tail, with the cursor that it printed")
      ->type_name("CURSOR")
      ->excludes(from);
  tail->add_flag("--once", options->once, "End after the newest event instead of waiting for more");
  tail->footer(
      "Ends with Ctrl-C, or when the session is deleted. Reconnects when the server restarts,\n"
      "without a gap and without printing an event twice. --output json and jsonl both print one\n"
      "object per line, each with its cursor.\n"
      "\nExamples:\n  holdfast session tail 4f1c2d3e\n"
      "  holdfast session tail 4f1c2d3e --from 120 --once\n"
      "  holdfast --output json session tail --latest \"$PWD\" | jq -r .name");
  tail->callback([command, options] {
    command->invocation().command = [command, options] {
      return RunTail(command->invocation(), command->policy(), *options);
    };
  });
}

// --- resume -------------------------------------------------------------------------------------

// Who takes a session up when nothing else is said.
std::string DefaultHolder() {
  constexpr size_t kLongestName = 256;
  std::array<char, kLongestName> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const char* user = std::getenv("USER");
  return std::string(user == nullptr ? "unknown" : user) + "@" + host.data();
}

struct ResumeOptions {
  Target target;
  v1::ResumeSessionRequest request;
  std::string holder = DefaultHolder();
  std::string token;
  std::string force_reason;
  std::string expected_store;
  uint64_t known_revision = 0;
  absl::Duration ttl = absl::Minutes(1);
};

v1::ResumeSessionRequest ToRequest(const ResumeOptions& options, const std::string& id) {
  v1::ResumeSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(id);
  request.set_session_uid(options.target.session_uid);
  request.set_holder(options.holder);
  request.set_lease_token(options.token);
  if (!options.force_reason.empty()) request.mutable_force()->set_reason(options.force_reason);
  request.set_expected_store_id(options.expected_store);
  request.set_known_revision(options.known_revision);
  ToProto(options.ttl, request.mutable_lease_ttl());
  return request;
}

// Writes the token, with JSON the whole reply, and nothing else: without it the lease that was
// granted is of no use. False when it could not be written.
bool WriteToken(const SessionCommand& command, const v1::ResumeSessionResponse& reply) {
  std::ostream& out = command.invocation().out;
  if (command.invocation().json()) {
    WriteJson(command.invocation(), ToJson(reply));
  } else {
    out << "token     " << reply.lease_token() << '\n';
  }
  return FlushProblem(out).empty();
}

void WriteReport(std::ostream& out, const v1::ResumeSessionResponse& reply) {
  for (const std::string& sentence : InWords(reply.report())) out << Printable(sentence) << '\n';
  out << '\n';
  WriteSession(out, reply.session());
}

// Gives back a lease whose token could not be written: no caller could use it, and it would keep
// others out.
void ReleaseUnwritten(const SessionCommand& command, const SessionCalls& calls,
                      const std::string& id, const v1::ResumeSessionResponse& reply) {
  v1::ReleaseLeaseRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(id);
  request.set_lease_token(reply.lease_token());
  v1::ReleaseLeaseResponse released;
  const bool given_back = calls.Send(&Sessions::ReleaseLease, request, released).ok();
  command.invocation().err << "holdfast: " << Printable(id)
                           << " was resumed, but its token could not be written: the lease "
                           << (given_back ? "was given back" : "stays until it expires") << '\n';
}

ExitCode RunResume(const SessionCommand& command, const ResumeOptions& options) {
  return command.RunOn(options.target, [&](const SessionCalls& calls, const std::string& id) {
    v1::ResumeSessionResponse reply;
    grpc::Status status = calls.Send(&Sessions::ResumeSession, ToRequest(options, id), reply);
    if (!status.ok()) return status;
    const bool written = WriteToken(command, reply);
    if (written && !command.invocation().json()) WriteReport(command.invocation().out, reply);
    // A reconnect is answered with the caller's own token, which an agent may be using.
    const bool known = reply.lease_token() == options.token;
    if (!written && !known) ReleaseUnwritten(command, calls, id, reply);
    return status;
  });
}

void AddResume(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<ResumeOptions>();
  CLI::App* resume = session.add_subcommand(
      "resume", "Resumes a session under a new lease and prints the recovery report");
  AddTarget(*resume, options->target);
  AddUid(*resume, options->target);
  resume
      ->add_option("--holder", options->holder,
                   "Name of the new lease holder, which other clients see")
      ->type_name("NAME")
      ->default_str("USER@HOST");
  AddDuration(*resume, "--ttl", options->ttl, "How long the lease lasts without a renewal");
  resume
      ->add_option("--token", options->token,
                   "Reconnect with this lease token; the session is not changed")
      ->type_name("TOKEN");
  resume
      ->add_option("--force", options->force_reason,
                   "Take the lease from its live holder; the audit chain keeps this reason")
      ->type_name("REASON");
  resume->add_option("--store-id", options->expected_store, "Fail unless the store has this id")
      ->type_name("ID");
  AddCount(*resume, "--known-revision", options->known_revision,
           "Fail when the stored revision is older than this one");
  resume->footer(
      "An active turn is abandoned, and the session continues from its last snapshot. Writes need\n"
      "the lease token that is printed.\n"
      "\nExamples:\n  holdfast session resume 4f1c2d3e\n"
      "  holdfast session resume --latest \"$PWD\" --force 'the old host is gone'\n"
      "  holdfast session resume 4f1c2d3e --patience 90s   # waits for the lease to end");
  resume->callback([command, options] {
    command->invocation().command = [command, options] { return RunResume(*command, *options); };
  });
}

// --- cancel -------------------------------------------------------------------------------------

struct CancelOptions {
  Target target;
  bool turn = false;
  std::string stage;
  std::string tool;
  std::string reason = "user";
};

v1::CancelScope ScopeOf(const CancelOptions& options) {
  if (options.turn) return v1::CANCEL_SCOPE_TURN;
  if (!options.stage.empty()) return v1::CANCEL_SCOPE_STAGE;
  return options.tool.empty() ? v1::CANCEL_SCOPE_SESSION : v1::CANCEL_SCOPE_TOOL;
}

v1::CancelSessionRequest ToRequest(const CancelOptions& options, const v1::Session& session) {
  v1::CancelSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(session.session_id());
  request.set_session_uid(session.session_uid());
  request.set_scope(ScopeOf(options));
  v1::CancelReason reason = v1::CANCEL_REASON_UNSPECIFIED;
  v1::CancelReason_Parse("CANCEL_REASON_" + absl::AsciiStrToUpper(options.reason), &reason);
  request.set_reason(reason);
  request.set_name(options.stage + options.tool);
  // Without an active turn the last one is named, and the server says that it is not active.
  if (request.scope() != v1::CANCEL_SCOPE_SESSION) {
    request.set_turn(session.has_turn() ? session.turn().number() : session.last_turn());
  }
  return request;
}

std::string CancelledSentence(const v1::CancelSessionRequest& request,
                              const v1::CancelSessionResponse& reply) {
  if (request.scope() != v1::CANCEL_SCOPE_SESSION) {
    return "has a cancel request: " + ScopeText(request.scope(), request.name(), request.turn()) +
           " shall end";
  }
  if (reply.session().lifecycle() == v1::LIFECYCLE_CLOSED) {
    return "is closed at revision " + std::to_string(reply.session().revision());
  }
  return "will be closed when turn " + std::to_string(reply.session().turn().number()) + " ends";
}

ExitCode RunCancel(const SessionCommand& command, const CancelOptions& options) {
  return command.Run([&](const SessionCalls& calls) {
    v1::Session session;
    grpc::Status status = calls.Get(options.target, session);
    if (!status.ok()) return status;
    const v1::CancelSessionRequest request = ToRequest(options, session);
    v1::CancelSessionResponse reply;
    status = calls.Send(&Sessions::CancelSession, request, reply);
    if (!status.ok()) return status;
    if (command.invocation().json()) {
      WriteJson(command.invocation(), ToJson(reply));
    } else {
      WriteConfirmation(command.invocation(), request.session_id(),
                        CancelledSentence(request, reply));
    }
    return status;
  });
}

void AddCancel(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<CancelOptions>();
  CLI::App* cancel = session.add_subcommand(
      "cancel", "Requests that a session, its turn, a stage or a tool use be cancelled");
  AddTarget(*cancel, options->target);
  auto* turn = cancel->add_flag("--turn", options->turn, "Cancel only the active turn");
  auto* stage =
      cancel->add_option("--stage", options->stage, "Cancel only this stage of the active turn");
  auto* tool =
      cancel->add_option("--tool", options->tool, "Cancel only this tool use of the active turn");
  stage->type_name("STAGE")->excludes(turn);
  tool->type_name("TOOL")->excludes(turn)->excludes(stage);
  cancel
      ->add_option("--reason", options->reason,
                   "Why: user, parent, or cap when a limit was reached")
      ->type_name("REASON")
      ->check(CLI::IsMember({"user", "parent", "cap"}))
      ->capture_default_str();
  cancel->footer(
      "Needs no lease token. The lease holder sees the request and may still commit. The server\n"
      "abandons a turn that is still active after recovery.cancel_grace, and closes a cancelled\n"
      "session when no turn is active.\n"
      "\nExamples:\n  holdfast session cancel 4f1c2d3e\n"
      "  holdfast session cancel 4f1c2d3e --turn\n"
      "  holdfast session cancel --latest \"$PWD\" --tool grep");
  cancel->callback([command, options] {
    command->invocation().command = [command, options] { return RunCancel(*command, *options); };
  });
}

// --- close, delete ------------------------------------------------------------------------------

struct EndOptions {
  Target target;
  std::string token;
};

// Sends `Request` for one session, and prints the reply, or `sentence(reply)` as text.
template <typename Request, typename Response, typename Sentence>
ExitCode RunEnd(const SessionCommand& command, const EndOptions& options,
                SessionMethod<Request, Response> method, Sentence sentence) {
  return command.RunOn(options.target, [&](const SessionCalls& calls, const std::string& id) {
    Request request;
    request.set_request_id(NewRequestId());
    request.set_session_id(id);
    request.set_session_uid(options.target.session_uid);
    request.set_lease_token(options.token);
    Response reply;
    grpc::Status status = calls.Send(method, request, reply);
    if (!status.ok()) return status;
    if (command.invocation().json()) {
      nlohmann::ordered_json object = ToJson(reply);
      object["session_id"] = id;
      WriteJson(command.invocation(), object);
    } else {
      WriteConfirmation(command.invocation(), id, sentence(reply));
    }
    return status;
  });
}

std::string ClosedSentence(const v1::CloseSessionResponse& reply) {
  std::string text = "is closed at revision " + std::to_string(reply.revision());
  if (reply.abandoned_turn() != 0) {
    text +=
        "; turn " + std::to_string(reply.abandoned_turn()) + " was running and has been abandoned";
  }
  return text;
}

std::string DeletedSentence(const v1::DeleteSessionResponse& reply) {
  return "is deleted permanently; its last revision was " + std::to_string(reply.revision());
}

std::shared_ptr<EndOptions> AddEndOptions(CLI::App& command) {
  auto options = std::make_shared<EndOptions>();
  AddTarget(command, options->target);
  AddUid(command, options->target);
  command.add_option("--token", options->token, kTokenHelp)->type_name("TOKEN");
  return options;
}

void AddClose(CLI::App& session, const SessionCommandPtr& command) {
  CLI::App* close =
      session.add_subcommand("close", "Closes a session; a closed session can be resumed");
  const auto options = AddEndOptions(*close);
  close->footer(
      "Examples:\n  holdfast session close 4f1c2d3e\n"
      "  holdfast session close 4f1c2d3e --token \"$token\"");
  close->callback([command, options] {
    command->invocation().command = [command, options] {
      return RunEnd(*command, *options, &Sessions::CloseSession, ClosedSentence);
    };
  });
}

void AddDelete(CLI::App& session, const SessionCommandPtr& command) {
  CLI::App* remove = session.add_subcommand("delete", "Deletes a session permanently");
  const auto options = AddEndOptions(*remove);
  remove->footer("Example:\n  holdfast session delete 4f1c2d3e");
  remove->callback([command, options] {
    command->invocation().command = [command, options] {
      return RunEnd(*command, *options, &Sessions::DeleteSession, DeletedSentence);
    };
  });
}

}  // namespace

void AddSessionCommands(CLI::App& app, Invocation& invocation) {
  const auto command = std::make_shared<SessionCommand>(invocation);
  CLI::App* session = app.add_subcommand(
      "session", "Lists, reads, resumes, restores, cancels, closes and deletes sessions");
  AddDuration(*session, "--patience", command->policy().patience,
              "How long to retry a call that can be retried");
  session->footer(
      "--patience goes with every command.\n"
      "`holdfast session COMMAND --help` prints the options of a command, with examples.");
  AddSessionList(*session, command);
  AddShow(*session, command);
  AddContentLists(*session, command);
  AddTail(*session, command);
  AddResume(*session, command);
  AddRestore(*session, command);
  AddCheckpoints(*session, command);
  AddCancel(*session, command);
  AddClose(*session, command);
  AddDelete(*session, command);
}

}  // namespace holdfast::cli
