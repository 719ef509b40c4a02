#include "cli/session_commands.h"

#include "cli/clock.h"
#include "cli/durations.h"
#include "cli/file_stream.h"
#include "cli/json.h"
#include "cli/recovery_report.h"
#include "cli/request_id.h"
#include "cli/session_calls.h"
#include "cli/session_tail.h"
#include "cli/session_view.h"
#include "cli/table.h"
#include "cli/times.h"

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

constexpr char kTokenHelp[] =
    "The token that a resume gave; needed while the session's lease is live";

// One run of a session command: what all of them have in common.
class Command final {
 public:
  explicit Command(Invocation& invocation) : invocation_(invocation) {}

  [[nodiscard]] RetryPolicy& policy() { return policy_; }
  [[nodiscard]] Invocation& invocation() const { return invocation_; }

  // Runs `body(calls)`, which returns a status, and prints why when it fails.
  template <typename Body>
  ExitCode Run(Body body) const {
    const Connection connection(invocation_.address);
    const Caller caller(policy_, MachineClock());
    const grpc::Status status = body(SessionCalls(connection, caller));
    return status.ok() ? kDone : Refuse(invocation_, status);
  }

  // The same for one session: `body(calls, id)`.
  template <typename Body>
  ExitCode RunOn(const Target& target, Body body) const {
    return Run([&](const SessionCalls& calls) {
      std::string id;
      const grpc::Status found = calls.Resolve(target, id);
      return found.ok() ? body(calls, id) : found;
    });
  }

  void PrintJson(const nlohmann::ordered_json& object) const {
    invocation_.out << object.dump(2) << '\n';
  }

 private:
  Invocation& invocation_;
  RetryPolicy policy_{.wait_for_lease = true};
};

using CommandPtr = std::shared_ptr<Command>;

void AddTarget(CLI::App& command, Target& target) {
  auto* id = command.add_option("SESSION", target.session_id, "The session's id");
  auto* latest = command.add_option("--latest", target.latest_of_project_root,
                                    "The newest session of this project root, instead of an id");
  latest->type_name("PROJECT_ROOT")->excludes(id);
  command.parse_complete_callback([&target] {
    if (target.session_id.empty() && target.latest_of_project_root.empty()) {
      throw CLI::RequiredError("SESSION or --latest PROJECT_ROOT");
    }
  });
}

// --- list ---------------------------------------------------------------------------------------

struct ListOptions {
  v1::ListSessionsRequest request;
  std::string project_root;
  std::vector<std::string> states;
  bool newest_first = false;
  uint64_t limit = 50;
};

ExitCode RunList(const Command& command, const ListOptions& options) {
  return command.Run(
      [&](const SessionCalls& calls) {
        v1::ListSessionsRequest request;
        request.set_project_root(AbsoluteRoot(options.project_root));
        request.set_order_by(options.newest_first ? "create_time desc" : "create_time");
        for (const std::string& state : options.states) request.add_lifecycles(StateOf(state));
        Listing listing;
        grpc::Status status = calls.List(request, options.limit, listing);
        if (!status.ok()) return status;
        if (command.invocation().json()) {
          nlohmann::ordered_json object = {{"sessions", nlohmann::ordered_json::array()},
                                           {"complete", listing.complete}};
          for (const auto& session : listing.sessions) {
            object["sessions"].push_back(ToJson(session));
          }
          command.PrintJson(object);
          return status;
        }
        WriteSessions(command.invocation().out, listing.sessions);
        if (!listing.complete) {
          command.invocation().err
              << "the server is still finding out what it holds: rows may be missing\n";
        }
        return status;
      });
}

void AddList(CLI::App& session, const CommandPtr& command) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* list = session.add_subcommand("list", "Lists sessions, oldest first");
  list->add_option("--project", options->project_root, "Only those of this project root");
  list->add_option("--state", options->states, "Only those in this state; may be given again")
      ->type_name("STATE")
      ->check(CLI::IsMember(StateNames()));
  list->add_flag("--newest-first", options->newest_first, "Newest first");
  AddCount(*list, "--limit", options->limit, "At most so many; 0 for all")
      ->default_str(std::to_string(options->limit));
  list->footer(
      "Examples:\n  holdfast session list --state active --state idle\n"
      "  holdfast --output json session list --limit 0 | jq -r '.sessions[].session_id'");
  list->callback([command, options] {
    command->invocation().command = [command, options] { return RunList(*command, *options); };
  });
}

// --- show ---------------------------------------------------------------------------------------

ExitCode RunShow(const Command& command, const Target& target) {
  return command.RunOn(target, [&](const SessionCalls& calls, const std::string& id) {
    v1::Session session;
    grpc::Status status = calls.Get({.session_id = id}, session);
    if (!status.ok()) return status;
    if (command.invocation().json()) {
      command.PrintJson(ToJson(session));
    } else {
      WriteSession(command.invocation().out, session);
    }
    return status;
  });
}

void AddShow(CLI::App& session, const CommandPtr& command) {
  const auto target = std::make_shared<Target>();
  CLI::App* show = session.add_subcommand("show", "Shows where a session stands");
  AddTarget(*show, *target);
  show->footer(
      "Examples:\n  holdfast session show 4f1c2d3e\n"
      "  holdfast session show --latest \"$PWD\"");
  show->callback([command, target] {
    command->invocation().command = [command, target] { return RunShow(*command, *target); };
  });
}

// --- tail ---------------------------------------------------------------------------------------

void AddTail(CLI::App& session, const CommandPtr& command) {
  const auto options = std::make_shared<TailOptions>();
  CLI::App* tail = session.add_subcommand("tail", "Prints a session's events as they come");
  AddTarget(*tail, options->target);
  auto* from = AddCount(*tail, "--from", options->from,
                        "The first event; otherwise the oldest that is kept");
  from->type_name("SEQ");
  tail->add_option("--cursor", options->cursor, "Goes on where an earlier tail ended")
      ->excludes(from);
  tail->add_flag("--once", options->once, "Ends when it has printed the newest event");
  tail->footer(
      "Ends with Ctrl-C, or with the session's deletion. Goes on by itself when the server\n"
      "restarts, without a gap and without printing an event twice. With --output json one\n"
      "object a line, each with its cursor.\n"
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
  return std::string(user == nullptr ? "somebody" : user) + "@" + host.data();
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
bool WriteToken(const Command& command, const v1::ResumeSessionResponse& reply) {
  std::ostream& out = command.invocation().out;
  if (command.invocation().json()) {
    command.PrintJson(ToJson(reply));
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
void ReleaseUnwritten(const Command& command, const SessionCalls& calls, const std::string& id,
                      const v1::ResumeSessionResponse& reply) {
  v1::ReleaseLeaseRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(id);
  request.set_lease_token(reply.lease_token());
  v1::ReleaseLeaseResponse released;
  const bool given_back = calls.Release(request, released).ok();
  command.invocation().err << "holdfast: " << Printable(id)
                           << " was resumed, but its token could not be written: the lease "
                           << (given_back ? "was given back" : "stays until it expires") << '\n';
}

ExitCode RunResume(const Command& command, const ResumeOptions& options) {
  return command.RunOn(options.target, [&](const SessionCalls& calls, const std::string& id) {
    v1::ResumeSessionResponse reply;
    grpc::Status status = calls.Resume(ToRequest(options, id), reply);
    if (!status.ok()) return status;
    const bool written = WriteToken(command, reply);
    if (written && !command.invocation().json()) WriteReport(command.invocation().out, reply);
    // A reconnect is answered with the caller's own token, which an agent may be using.
    const bool known = reply.lease_token() == options.token;
    if (!written && !known) ReleaseUnwritten(command, calls, id, reply);
    return status;
  });
}

void AddResume(CLI::App& session, const CommandPtr& command) {
  const auto options = std::make_shared<ResumeOptions>();
  CLI::App* resume = session.add_subcommand("resume", "Takes a session up and says what was found");
  AddTarget(*resume, options->target);
  resume->add_option("--holder", options->holder, "Who takes it: a label for others to read")
      ->capture_default_str();
  AddDuration(*resume, "--ttl", options->ttl, "How long the lease lasts without a sign of life");
  resume->add_option("--token", options->token, "Your own token: a reconnect that changes nothing");
  resume->add_option("--force", options->force_reason, "Take it from a live holder, and say why")
      ->type_name("REASON");
  resume->add_option("--store-id", options->expected_store, "Refuse any other store");
  AddCount(*resume, "--known-revision", options->known_revision,
           "Refuse a store that is behind this revision");
  resume->footer(
      "A turn that was running is abandoned; its snapshot before stands. The token that is\n"
      "printed is what writing needs from now on.\n"
      "\nExamples:\n  holdfast session resume 4f1c2d3e\n"
      "  holdfast session resume --latest \"$PWD\" --force 'the old host is gone'\n"
      "  holdfast session resume 4f1c2d3e --patience 90s   # waits for the other holder");
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
    return "was told that " + ScopeText(request.scope(), request.name(), request.turn()) +
           " is to end";
  }
  if (reply.session().lifecycle() == v1::LIFECYCLE_CLOSED) {
    return "is closed at revision " + std::to_string(reply.session().revision());
  }
  return "will be closed when turn " + std::to_string(reply.session().turn().number()) + " ends";
}

ExitCode RunCancel(const Command& command, const CancelOptions& options) {
  return command.Run([&](const SessionCalls& calls) {
    v1::Session session;
    grpc::Status status = calls.Get(options.target, session);
    if (!status.ok()) return status;
    const v1::CancelSessionRequest request = ToRequest(options, session);
    v1::CancelSessionResponse reply;
    status = calls.Cancel(request, reply);
    if (!status.ok()) return status;
    if (command.invocation().json()) {
      command.PrintJson(ToJson(reply));
    } else {
      command.invocation().out << Printable(request.session_id()) << ' '
                               << Printable(CancelledSentence(request, reply)) << '\n';
    }
    return status;
  });
}

void AddCancel(CLI::App& session, const CommandPtr& command) {
  const auto options = std::make_shared<CancelOptions>();
  CLI::App* cancel =
      session.add_subcommand("cancel", "Asks a session's holder to end it, its turn or a tool");
  AddTarget(*cancel, options->target);
  auto* turn = cancel->add_flag("--turn", options->turn, "Only the turn that is running");
  auto* stage = cancel->add_option("--stage", options->stage, "Only this stage of it");
  auto* tool = cancel->add_option("--tool", options->tool, "Only this use of a tool in it");
  stage->excludes(turn);
  tool->excludes(turn)->excludes(stage);
  cancel->add_option("--reason", options->reason, "Who asks: user, parent, or cap for a limit")
      ->check(CLI::IsMember({"user", "parent", "cap"}))
      ->capture_default_str();
  cancel->footer(
      "Needs no token. The holder may still commit; a turn that goes on after the server's\n"
      "recovery.cancel_grace is abandoned, and the session is closed as soon as no turn runs.\n"
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
template <typename Request, typename Response, typename Send, typename Sentence>
ExitCode RunEnd(const Command& command, const EndOptions& options, Send send, Sentence sentence) {
  return command.RunOn(options.target, [&](const SessionCalls& calls, const std::string& id) {
    Request request;
    request.set_request_id(NewRequestId());
    request.set_session_id(id);
    request.set_lease_token(options.token);
    Response reply;
    grpc::Status status = (calls.*send)(request, reply);
    if (!status.ok()) return status;
    if (command.invocation().json()) {
      nlohmann::ordered_json object = ToJson(reply);
      object["session_id"] = id;
      command.PrintJson(object);
    } else {
      command.invocation().out << Printable(id) << ' ' << sentence(reply) << '\n';
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
  return "is deleted for ever; its last revision was " + std::to_string(reply.revision());
}

std::shared_ptr<EndOptions> AddEndOptions(CLI::App& command) {
  auto options = std::make_shared<EndOptions>();
  AddTarget(command, options->target);
  command.add_option("--token", options->token, kTokenHelp);
  return options;
}

void AddClose(CLI::App& session, const CommandPtr& command) {
  CLI::App* close = session.add_subcommand("close", "Ends a session; it can still be resumed");
  const auto options = AddEndOptions(*close);
  close->footer(
      "Examples:\n  holdfast session close 4f1c2d3e\n"
      "  holdfast session close 4f1c2d3e --token \"$token\"");
  close->callback([command, options] {
    command->invocation().command = [command, options] {
      return RunEnd<v1::CloseSessionRequest, v1::CloseSessionResponse>(
          *command, *options, &SessionCalls::Close, ClosedSentence);
    };
  });
}

void AddDelete(CLI::App& session, const CommandPtr& command) {
  CLI::App* remove = session.add_subcommand("delete", "Deletes a session; nothing brings it back");
  const auto options = AddEndOptions(*remove);
  remove->footer("Example:\n  holdfast session delete 4f1c2d3e");
  remove->callback([command, options] {
    command->invocation().command = [command, options] {
      return RunEnd<v1::DeleteSessionRequest, v1::DeleteSessionResponse>(
          *command, *options, &SessionCalls::Delete, DeletedSentence);
    };
  });
}

}  // namespace

void AddSessionCommands(CLI::App& app, Invocation& invocation) {
  const auto command = std::make_shared<Command>(invocation);
  CLI::App* session = app.add_subcommand(
      "session", "Lists, shows, follows, resumes, cancels, closes, deletes sessions");
  AddDuration(*session, "--patience", command->policy().patience,
              "How long to repeat a call that may be repeated");
  AddList(*session, command);
  AddShow(*session, command);
  AddTail(*session, command);
  AddResume(*session, command);
  AddCancel(*session, command);
  AddClose(*session, command);
  AddDelete(*session, command);
}

}  // namespace holdfast::cli
