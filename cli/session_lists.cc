#include "cli/session_lists.h"

#include "cli/conversation_view.h"
#include "cli/durations.h"
#include "cli/item_view.h"
#include "cli/list_command.h"
#include "cli/page_options.h"
#include "cli/session_view.h"
#include "cli/table.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

// --- list ---------------------------------------------------------------------------------------

struct ListOptions {
  std::string project_root;
  std::string group;
  std::string group_prefix;
  std::vector<std::string> kinds;
  std::vector<std::string> states;
  bool newest_first = false;
  RowContent content;
  PageOptions page;
};

ExitCode RunSessions(const SessionCommand& command, const ListOptions& options) {
  const RowContent& content = options.content;
  Rows rows(command.invocation().out, SessionHeading(content));
  bool complete = true;
  const List<v1::ListSessionsRequest, v1::ListSessionsResponse> list{
      .method = &Sessions::ListSessions,
      .page = options.page,
      .prepare =
          [&](const SessionCalls&, v1::ListSessionsRequest& request) {
            request.set_project_root(AbsoluteRoot(options.project_root));
            request.set_group(options.group);
            request.set_group_prefix(options.group_prefix);
            for (const std::string& kind : options.kinds) request.add_kinds(KindOf(kind));
            request.set_order_by(options.newest_first ? "create_time desc" : "create_time");
            for (const std::string& state : options.states) request.add_lifecycles(StateOf(state));
            request.mutable_read_attributes()->Add(content.attributes.begin(),
                                                   content.attributes.end());
            request.mutable_read_slots()->Add(content.slots.begin(), content.slots.end());
            return grpc::Status::OK;
          },
      .write =
          [&](const v1::ListSessionsResponse& page) {
            for (const v1::SessionSummary& session : page.sessions()) {
              rows.Add(SessionRow(session, content));
            }
            rows.Write();
          },
      .change =
          [&](v1::ListSessionsResponse& page) {
            complete = complete && page.complete();
            page.set_complete(complete);
          },
  };
  const ExitCode code = RunList(command, list);
  if (!complete) {
    WriteNote(command.invocation(),
              "the server is still reading its store: sessions may be missing from this list");
  }
  return code;
}

// --- messages -----------------------------------------------------------------------------------

struct MessagesOptions {
  Target target;
  PageOptions page;
  uint64_t tail = 0;
  uint64_t revision = 0;
  uint64_t width = 0;
  uint64_t tool_lines = ConversationLayout().tool_lines;
};

// Moves the start of `request` so that `tail` messages are left. Fixes the revision that they are
// counted at.
grpc::Status StartAtTail(const SessionCalls& calls, uint64_t tail,
                         v1::ListMessagesRequest& request) {
  const auto take = [&](v1::ListMessagesResponse& page) {
    request.set_revision(page.revision());
    request.set_after_seq(std::max<int64_t>(page.message_count() - static_cast<int64_t>(tail), 0));
    return false;
  };
  return calls.ReadPages<v1::ListMessagesRequest, v1::ListMessagesResponse>(&Sessions::ListMessages,
                                                                            request, 1, take);
}

ConversationLayout LayoutOf(const Invocation& invocation, const MessagesOptions& options) {
  return {.columns = options.width == 0 ? invocation.terminal.columns : options.width,
          .tool_lines = options.tool_lines};
}

ExitCode RunMessages(const SessionCommand& command, const MessagesOptions& options) {
  const Invocation& invocation = command.invocation();
  ConversationWriter conversation(invocation.out, LayoutOf(invocation, options),
                                  invocation.painter());
  const List<v1::ListMessagesRequest, v1::ListMessagesResponse> list{
      .method = &Sessions::ListMessages,
      .page = options.page,
      .prepare =
          [&](const SessionCalls& calls, v1::ListMessagesRequest& request) {
            grpc::Status status = calls.Resolve(options.target, *request.mutable_session_id());
            request.set_revision(static_cast<int64_t>(options.revision));
            request.set_after_seq(static_cast<int64_t>(options.page.after));
            if (!status.ok() || options.tail == 0) return status;
            return StartAtTail(calls, options.tail, request);
          },
      .write =
          [&](const v1::ListMessagesResponse& page) {
            for (const v1::Message& message : page.messages()) conversation.Write(message);
          },
  };
  return RunList(command, list);
}

void AddMessages(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<MessagesOptions>();
  CLI::App* messages =
      session.add_subcommand("messages", "Prints the messages of a session as a conversation");
  AddTarget(*messages, options->target);
  auto* tail = AddCount(*messages, "--tail", options->tail, "Print only the last N messages");
  AddCount(*messages, "--revision", options->revision,
           "Read the history at this revision; the default is the current one")
      ->type_name("R");
  AddAfter(*messages, options->page, "sequence number");
  AddPageOptions(*messages, options->page);
  tail->excludes("--after")->excludes("--limit")->excludes("--page-token");
  AddCount(*messages, "--width", options->width,
           "Wrap lines at N columns; the default is the terminal's width, else 80");
  AddCount(*messages, "--tool-lines", options->tool_lines,
           "Print at most N lines of each tool call and tool result; 0 prints all")
      ->default_str(std::to_string(options->tool_lines));
  messages->footer(
      "JSON bodies in the OpenAI chat shape are printed as text; a body of another type is\n"
      "named by its type and size. Control characters are printed as escapes such as \\x1B.\n"
      "With --output json or jsonl `data` is the whole body in base64.\n"
      "\nExamples:\n  holdfast session messages 4f1c2d3e\n"
      "  holdfast session messages 4f1c2d3e --tail 5 --tool-lines 0\n"
      "  holdfast --output jsonl session messages 4f1c2d3e | jq -r '.data | @base64d'");
  messages->callback([command, options] {
    command->invocation().command = [command, options] { return RunMessages(*command, *options); };
  });
}

// --- journal ------------------------------------------------------------------------------------

struct JournalOptions {
  Target target;
  PageOptions page;
  std::optional<uint64_t> turn;
};

ExitCode RunJournal(const SessionCommand& command, const JournalOptions& options) {
  Rows rows(command.invocation().out, JournalHeading());
  const List<v1::ListJournalEntriesRequest, v1::ListJournalEntriesResponse> list{
      .method = &Sessions::ListJournalEntries,
      .page = options.page,
      .prepare =
          [&](const SessionCalls& calls, v1::ListJournalEntriesRequest& request) {
            request.set_after_journal_number(static_cast<int64_t>(options.page.after));
            if (options.turn) request.set_turn(static_cast<int64_t>(*options.turn));
            return calls.Resolve(options.target, *request.mutable_session_id());
          },
      .write =
          [&](const v1::ListJournalEntriesResponse& page) {
            for (const v1::JournalEntry& entry : page.entries()) rows.Add(JournalRow(entry));
            rows.Write();
          },
  };
  return RunList(command, list);
}

void AddJournal(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<JournalOptions>();
  CLI::App* journal = session.add_subcommand(
      "journal", "Lists the journal entries of a session that the store still keeps");
  AddTarget(*journal, options->target);
  const auto turn = std::make_shared<uint64_t>(0);
  auto* only =
      AddCount(*journal, "--turn", *turn, "List only the entries of this turn; 0 is between turns");
  AddAfter(*journal, options->page, "journal number");
  AddPageOptions(*journal, options->page);
  journal->footer(
      "DATA is shortened; with --output json or jsonl `data` is whole, in base64.\n"
      "\nExamples:\n  holdfast session journal 4f1c2d3e\n"
      "  holdfast session journal 4f1c2d3e --turn 3");
  journal->callback([command, options, turn, only] {
    if (only->count() > 0) options->turn = *turn;
    command->invocation().command = [command, options] { return RunJournal(*command, *options); };
  });
}

// --- audit --------------------------------------------------------------------------------------

struct AuditOptions {
  Target target;
  PageOptions page;
  std::string audit_class;
};

ExitCode RunAudit(const SessionCommand& command, const AuditOptions& options) {
  Rows rows(command.invocation().out, AuditHeading());
  const List<v1::ListAuditRecordsRequest, v1::ListAuditRecordsResponse> list{
      .method = &Sessions::ListAuditRecords,
      .page = options.page,
      .prepare =
          [&](const SessionCalls& calls, v1::ListAuditRecordsRequest& request) {
            request.set_after_seq(static_cast<int64_t>(options.page.after));
            request.set_audit_class(options.audit_class);
            return calls.Resolve(options.target, *request.mutable_session_id());
          },
      .write =
          [&](const v1::ListAuditRecordsResponse& page) {
            for (const v1::AuditRecord& record : page.records()) rows.Add(AuditRow(record));
            rows.Write();
          },
  };
  return RunList(command, list);
}

void AddAudit(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<AuditOptions>();
  CLI::App* audit = session.add_subcommand("audit", "Lists the audit records of a session");
  AddTarget(*audit, options->target);
  AddAfter(*audit, options->page, "sequence number");
  audit->add_option("--class", options->audit_class, "List records of this class alone")
      ->type_name("CLASS");
  AddPageOptions(*audit, options->page);
  audit->footer(
      "DATA is shortened; --output json and jsonl print every field, hashes too.\n"
      "`holdfast store verify-audit` checks the hash chain.\n"
      "\nExamples:\n  holdfast session audit 4f1c2d3e\n"
      "  holdfast session audit 4f1c2d3e --class Compaction\n"
      "  holdfast --output jsonl session audit 4f1c2d3e | jq -r '.audit_class + \" \" + .code'");
  audit->callback([command, options] {
    command->invocation().command = [command, options] { return RunAudit(*command, *options); };
  });
}

// --- slots --------------------------------------------------------------------------------------

struct SlotsOptions {
  Target target;
  PageOptions page;
  uint64_t revision = 0;
  std::vector<std::string> owners;
  bool data = false;
};

// The size of a slot beside it, in the form that JSON gives numbers of 64 bits.
AmendItem AddSize(const v1::ListSlotsResponse& page) {
  return [&page](int index, nlohmann::ordered_json& slot) {
    slot["size"] = absl::StrCat(page.sizes(index));
  };
}

ExitCode RunSlots(const SessionCommand& command, const SlotsOptions& options) {
  Rows rows(command.invocation().out, SlotHeading());
  const List<v1::ListSlotsRequest, v1::ListSlotsResponse> list{
      .method = &Sessions::ListSlots,
      .page = options.page,
      .prepare =
          [&](const SessionCalls& calls, v1::ListSlotsRequest& request) {
            request.set_revision(static_cast<int64_t>(options.revision));
            request.set_without_data(!options.data);
            request.mutable_owners()->Add(options.owners.begin(), options.owners.end());
            return calls.Resolve(options.target, *request.mutable_session_id());
          },
      .write =
          [&](const v1::ListSlotsResponse& page) {
            for (int i = 0; i < page.slots_size(); ++i) {
              rows.Add(SlotRow(page.slots(i), page.sizes(i)));
            }
            rows.Write();
          },
      .amend = AddSize,
  };
  return RunList(command, list);
}

void AddSlots(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<SlotsOptions>();
  CLI::App* slots = session.add_subcommand("slots", "Lists the slots of a session");
  AddTarget(*slots, options->target);
  AddCount(*slots, "--revision", options->revision,
           "Read the slots at this revision; the default is the current one")
      ->type_name("R");
  slots->add_option("--owner", options->owners, "List only the slot of this owner; repeatable")
      ->type_name("OWNER");
  slots->add_flag("--data", options->data,
                  "Read the data too, which --output json and jsonl print in base64");
  AddPageOptions(*slots, options->page);
  slots->footer(
      "Examples:\n  holdfast session slots 4f1c2d3e\n"
      "  holdfast --output jsonl session slots 4f1c2d3e --owner planner --data |\n"
      "    jq -r '.data | @base64d'");
  slots->callback([command, options] {
    command->invocation().command = [command, options] { return RunSlots(*command, *options); };
  });
}

}  // namespace

void AddSessionList(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* list = session.add_subcommand("list", "Lists sessions, oldest first");
  list->add_option("--project", options->project_root, "List only sessions of this project root")
      ->type_name("PROJECT_ROOT");
  auto* group = list->add_option("--group", options->group, "List only sessions of this group");
  group->type_name("GROUP");
  list->add_option("--group-prefix", options->group_prefix,
                   "List only sessions of groups that begin with this, by group")
      ->type_name("PREFIX")
      ->excludes(group);
  list->add_option("--kind", options->kinds, "List only sessions of this kind; repeatable")
      ->type_name("KIND")
      ->check(CLI::IsMember(KindNames()));
  list->add_option("--state", options->states, "List only sessions in this state; repeatable")
      ->type_name("STATE")
      ->check(CLI::IsMember(StateNames()));
  list->add_flag("--newest-first", options->newest_first, "List the newest session first");
  list->add_option("--attribute", options->content.attributes,
                   "Print the value of this attribute too; repeatable")
      ->type_name("NAME");
  list->add_option("--slot", options->content.slots,
                   "Print the data of this owner's slot too, of up to 16 KiB; repeatable")
      ->type_name("OWNER");
  AddPageOptions(*list, options->page);
  list->footer(
      "Examples:\n  holdfast session list --state active --state idle\n"
      "  holdfast session list --newest-first --limit 10\n"
      "  holdfast session list --kind open --group-prefix app/\n"
      "  holdfast session list --attribute agent --slot planner\n"
      "  holdfast --output jsonl session list | jq -r .session_id");
  list->callback([command, options] {
    command->invocation().command = [command, options] { return RunSessions(*command, *options); };
  });
}

void AddContentLists(CLI::App& session, const SessionCommandPtr& command) {
  AddMessages(session, command);
  AddJournal(session, command);
  AddAudit(session, command);
  AddSlots(session, command);
}

}  // namespace holdfast::cli
