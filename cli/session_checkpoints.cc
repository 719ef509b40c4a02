#include "cli/session_checkpoints.h"

#include "cli/durations.h"
#include "cli/enum_text.h"
#include "cli/item_label.h"
#include "cli/item_options.h"
#include "cli/json.h"
#include "cli/list_command.h"
#include "cli/page_options.h"
#include "cli/request_id.h"
#include "cli/session_calls.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/times.h"

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

std::string KindText(v1::CheckpointKind kind) {
  if (kind == v1::CHECKPOINT_KIND_UNSPECIFIED) return "-";
  return EnumText(v1::CheckpointKind_Name(kind), "CHECKPOINT_KIND_");
}

std::vector<std::string> CheckpointKindNames() {
  std::vector<std::string> names;
  for (int kind = v1::CheckpointKind_MIN + 1; kind <= v1::CheckpointKind_MAX; ++kind) {
    names.push_back(KindText(static_cast<v1::CheckpointKind>(kind)));
  }
  return names;
}

v1::CheckpointKind CheckpointKindOf(const std::string& name) {
  v1::CheckpointKind kind = v1::CHECKPOINT_KIND_UNSPECIFIED;
  v1::CheckpointKind_Parse("CHECKPOINT_KIND_" + absl::AsciiStrToUpper(name), &kind);
  return kind;
}

// --- checkpoint ---------------------------------------------------------------------------------

struct CheckpointOptions {
  Target target;
  v1::PutCheckpointRequest put;
  uint64_t revision = 0;
  bool reject = false;
  bool approve = false;
  bool removes = false;
};

// The reply as JSON, or what it says of the session.
void WriteAnswer(const Invocation& invocation, const std::string& id,
                 const google::protobuf::Message& reply, const std::string& sentence) {
  if (invocation.json()) {
    nlohmann::ordered_json object = ToJson(reply);
    object["session_id"] = id;
    WriteJson(invocation, object);
  } else if (!invocation.quiet) {
    invocation.out << Printable(id) << ' ' << sentence << '\n';
  }
}

ExitCode RunDelete(const SessionCommand& command, const CheckpointOptions& options) {
  return command.RunOn(options.target, [&](const SessionCalls& calls, const std::string& id) {
    v1::DeleteCheckpointRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id(id);
    request.set_session_uid(options.target.session_uid);
    request.set_revision(static_cast<int64_t>(options.revision));
    if (options.revision == 0) request.set_name(options.put.name());
    v1::DeleteCheckpointResponse reply;
    const grpc::Status status = calls.Send(&Sessions::DeleteCheckpoint, request, reply);
    if (!status.ok()) return status;
    WriteAnswer(command.invocation(), id, reply, "has no such checkpoint any more");
    return status;
  });
}

std::string PutSentence(const v1::Checkpoint& checkpoint) {
  std::string text = absl::StrCat("has a checkpoint at revision ", checkpoint.revision());
  if (!checkpoint.name().empty()) absl::StrAppend(&text, ", named ", Printable(checkpoint.name()));
  if (checkpoint.status() == v1::CHECKPOINT_STATUS_REJECTED) text += ", rejected";
  return text;
}

ExitCode RunCheckpoint(const SessionCommand& command, const CheckpointOptions& options) {
  return command.RunOn(options.target, [&](const SessionCalls& calls, const std::string& id) {
    v1::PutCheckpointRequest request = options.put;
    request.set_request_id(NewRequestId());
    request.set_session_id(id);
    request.set_session_uid(options.target.session_uid);
    request.set_revision(static_cast<int64_t>(options.revision));
    if (options.reject) request.set_status(v1::CHECKPOINT_STATUS_REJECTED);
    if (options.approve) request.set_status(v1::CHECKPOINT_STATUS_VALID);
    v1::PutCheckpointResponse reply;
    const grpc::Status status = calls.Send(&Sessions::PutCheckpoint, request, reply);
    if (!status.ok()) return status;
    WriteAnswer(command.invocation(), id, reply, PutSentence(reply.checkpoint()));
    return status;
  });
}

void AddCheckpoint(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<CheckpointOptions>();
  CLI::App* checkpoint = session.add_subcommand(
      "checkpoint", "Keeps a snapshot readable, or changes or deletes a checkpoint");
  AddTarget(*checkpoint, options->target);
  AddUid(*checkpoint, options->target);
  checkpoint
      ->add_option_function<std::string>(
          "--name", [options](const std::string& name) { options->put.set_name(name); },
          "Name of the checkpoint, which no other one of the session has")
      ->type_name("NAME");
  AddCount(*checkpoint, "--revision", options->revision,
           "Its snapshot; the default is the checkpoint of the name, else the last snapshot")
      ->type_name("R");
  AddLabels(*checkpoint, *options->put.mutable_labels(), "Label of the checkpoint");
  auto* reject =
      checkpoint->add_flag("--reject", options->reject, "Mark the checkpoint as rejected");
  checkpoint->add_flag("--approve", options->approve, "Mark a rejected checkpoint as valid again")
      ->excludes(reject);
  checkpoint
      ->add_flag("--delete", options->removes,
                 "Delete the checkpoint: its snapshot goes once newer ones have followed")
      ->excludes("--reject")
      ->excludes("--approve")
      ->excludes("--label");
  checkpoint->footer(
      "Without --name and --revision the last snapshot becomes a checkpoint without a name.\n"
      "A checkpoint keeps messages and slots, which `session messages`, `session slots` and\n"
      "`session restore` take by its revision.\n"
      "\nExamples:\n"
      "  holdfast session checkpoint 4f1c2d3e --name before-refactoring\n"
      "  holdfast session checkpoint 4f1c2d3e --name before-refactoring --reject\n"
      "  holdfast session checkpoint 4f1c2d3e --name before-refactoring --delete");
  checkpoint->callback([command, options] {
    if (options->removes && options->revision == 0 && options->put.name().empty()) {
      throw CLI::RequiredError("--delete: --name or --revision");
    }
    command->invocation().command = [command, options] {
      return options->removes ? RunDelete(*command, *options) : RunCheckpoint(*command, *options);
    };
  });
}

// --- checkpoints --------------------------------------------------------------------------------

struct CheckpointsOptions {
  Target target;
  PageOptions page;
  std::vector<std::string> kinds;
  v1::ListCheckpointsRequest filters;
  bool only_valid = false;
  bool all = false;
};

Row CheckpointHeading() {
  return {"REVISION", "KIND", "STATUS", "TURN", "MESSAGES", "CREATED", "NAME", "LABELS"};
}

Row CheckpointRow(const v1::Checkpoint& checkpoint) {
  std::string labels;
  for (const auto& [name, label] : checkpoint.labels()) {
    absl::StrAppend(&labels, labels.empty() ? "" : " ", LabelText(name, label));
  }
  const bool is_pinned = checkpoint.kind() != v1::CHECKPOINT_KIND_UNSPECIFIED;
  return {absl::StrCat(checkpoint.revision()),
          KindText(checkpoint.kind()),
          is_pinned ? EnumText(v1::CheckpointStatus_Name(checkpoint.status()), "CHECKPOINT_STATUS_")
                    : "-",
          checkpoint.turn() == 0 ? "-" : absl::StrCat(checkpoint.turn()),
          absl::StrCat(checkpoint.message_count()),
          is_pinned ? ShortTime(checkpoint.create_time()) : "-",
          checkpoint.name().empty() ? "-" : checkpoint.name(),
          labels.empty() ? "-" : labels};
}

ExitCode RunCheckpoints(const SessionCommand& command, const CheckpointsOptions& options) {
  Rows rows(command.invocation().out, CheckpointHeading());
  const List<v1::ListCheckpointsRequest, v1::ListCheckpointsResponse> list{
      .method = &Sessions::ListCheckpoints,
      .page = options.page,
      .prepare =
          [&](const SessionCalls& calls, v1::ListCheckpointsRequest& request) {
            request = options.filters;
            for (const std::string& kind : options.kinds) request.add_kinds(CheckpointKindOf(kind));
            request.set_only_valid(options.only_valid);
            request.set_include_window(options.all);
            return calls.Resolve(options.target, *request.mutable_session_id());
          },
      .write =
          [&](const v1::ListCheckpointsResponse& page) {
            for (const v1::Checkpoint& checkpoint : page.checkpoints()) {
              rows.Add(CheckpointRow(checkpoint));
            }
            rows.Write();
          },
  };
  return RunList(command, list);
}

void AddCheckpointList(CLI::App& session, const SessionCommandPtr& command) {
  const auto options = std::make_shared<CheckpointsOptions>();
  CLI::App* checkpoints =
      session.add_subcommand("checkpoints", "Lists the checkpoints of a session, the newest first");
  AddTarget(*checkpoints, options->target);
  checkpoints->add_option("--kind", options->kinds, "Only checkpoints of this kind; repeatable")
      ->check(CLI::IsMember(CheckpointKindNames()))
      ->type_name("KIND")
      ->allow_extra_args(false);
  checkpoints->add_flag("--only-valid", options->only_valid, "Leave out those that were rejected");
  AddLabels(*checkpoints, *options->filters.mutable_labels(), "Only checkpoints with this label");
  checkpoints
      ->add_flag("--all", options->all,
                 "List the newest snapshots too, which need no checkpoint to be read")
      ->excludes("--label");
  AddPageOptions(*checkpoints, options->page);
  checkpoints->footer(
      "Kinds other than manual are the server's own: it keeps the newest 10 of each.\n"
      "\nExamples:\n  holdfast session checkpoints 4f1c2d3e\n"
      "  holdfast session checkpoints 4f1c2d3e --kind manual --only-valid --limit 1");
  checkpoints->callback([command, options] {
    command->invocation().command = [command, options] {
      return RunCheckpoints(*command, *options);
    };
  });
}

}  // namespace

void AddCheckpoints(CLI::App& session, const SessionCommandPtr& command) {
  AddCheckpoint(session, command);
  AddCheckpointList(session, command);
}

}  // namespace holdfast::cli
