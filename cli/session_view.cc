#include "cli/session_view.h"

#include "cli/enum_text.h"
#include "cli/text.h"
#include "cli/times.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <cstddef>
#include <map>

namespace holdfast::cli {
namespace {

// What a line shows of texts that others have stored; as JSON they are whole.
constexpr size_t kTitleColumns = 80;
constexpr size_t kProjectColumns = 120;
constexpr size_t kAttributeColumns = 200;
constexpr size_t kContentColumns = 40;

std::string LeaseText(const v1::Lease& lease) {
  std::string text = absl::StrCat(EnumText(v1::LeaseState_Name(lease.state()), "LEASE_STATE_"),
                                  ", epoch ", lease.epoch());
  if (!lease.holder().empty()) absl::StrAppend(&text, ", holder ", lease.holder());
  if (lease.has_expires_in()) {
    absl::StrAppend(&text, ", ends in ", ShortDuration(FromProto(lease.expires_in())));
  }
  return text;
}

std::string TurnText(const v1::Session& session) {
  if (!session.has_turn()) return absl::StrCat("none running, last ", session.last_turn());
  return absl::StrCat(session.turn().number(), " running since ",
                      ShortTime(session.turn().start_time()), ", ", session.turn().last_entry(),
                      " journal entries");
}

// A trace that is not known is not shown.
void AddTrace(const char* name, const std::string& id, std::vector<Row>& rows) {
  if (!id.empty()) rows.push_back({name, id});
}

std::string MarkText(const v1::CancelRequest& mark) {
  return absl::StrCat(ScopeText(mark.scope(), mark.name(), mark.turn()), ", asked by ",
                      EnumText(v1::CancelReason_Name(mark.reason()), "CANCEL_REASON_"), " at ",
                      ShortTime(mark.create_time()));
}

std::string AttributeCell(const v1::SessionSummary& session, const std::string& name) {
  const auto found = session.attributes().find(name);
  if (found == session.attributes().end()) return "-";
  return Cut(Printable(found->second), kContentColumns);
}

std::string SlotCell(const v1::SessionSummary& session, const std::string& owner) {
  for (const v1::SlotView& view : session.slots()) {
    if (view.slot().owner() != owner) continue;
    if (view.damaged()) return "damaged";
    const bool is_text = !view.data_left_out() && IsPlainText(view.slot().data());
    if (!is_text) return absl::StrCat(view.size(), " bytes");
    return Cut(Printable(view.slot().data()), kContentColumns);
  }
  return "-";
}

std::string SummaryState(const v1::SessionSummary& row) {
  switch (row.condition()) {
    case v1::SessionSummary::CONDITION_FOREIGN:
      return "foreign";
    case v1::SessionSummary::CONDITION_DAMAGED:
      return "damaged";
    default:
      return StateName(row.lifecycle());
  }
}

}  // namespace

std::string ScopeText(v1::CancelScope scope, const std::string& name, uint64_t turn) {
  std::string text = EnumText(v1::CancelScope_Name(scope), "CANCEL_SCOPE_");
  if (scope == v1::CANCEL_SCOPE_SESSION) return text;
  if (scope == v1::CANCEL_SCOPE_TURN) return absl::StrCat(text, " ", turn);
  return absl::StrCat(text, " ", name, " of turn ", turn);
}

std::string StateName(v1::Lifecycle lifecycle) {
  return EnumText(v1::Lifecycle_Name(lifecycle), "LIFECYCLE_");
}

std::vector<std::string> StateNames() {
  std::vector<std::string> names;
  for (int value = v1::Lifecycle_MIN + 1; value <= v1::Lifecycle_MAX; ++value) {
    names.push_back(StateName(static_cast<v1::Lifecycle>(value)));
  }
  return names;
}

std::string KindName(v1::SessionKind kind) {
  return EnumText(v1::SessionKind_Name(kind), "SESSION_KIND_");
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (int value = v1::SessionKind_MIN + 1; value <= v1::SessionKind_MAX; ++value) {
    names.push_back(KindName(static_cast<v1::SessionKind>(value)));
  }
  return names;
}

v1::SessionKind KindOf(const std::string& name) {
  v1::SessionKind kind = v1::SESSION_KIND_UNSPECIFIED;
  v1::SessionKind_Parse("SESSION_KIND_" + absl::AsciiStrToUpper(name), &kind);
  return kind;
}

v1::Lifecycle StateOf(const std::string& name) {
  v1::Lifecycle lifecycle = v1::LIFECYCLE_UNSPECIFIED;
  v1::Lifecycle_Parse("LIFECYCLE_" + absl::AsciiStrToUpper(name), &lifecycle);
  return lifecycle;
}

void WriteSession(std::ostream& out, const v1::Session& session) {
  const v1::Manifest& manifest = session.manifest();
  std::string state = StateName(session.lifecycle());
  if (session.lifecycle() == v1::LIFECYCLE_CLOSED) {
    const std::string reason = v1::CloseReason_Name(session.close_reason());
    absl::StrAppend(&state, " (", EnumText(reason, "CLOSE_REASON_"), ")");
  }
  std::vector<Row> rows = {
      {"session", session.session_id()},
      {"state", state},
      {"revision", absl::StrCat(session.revision())},
      {"snapshot", absl::StrCat("revision ", session.snapshot_revision())},
      {"messages", absl::StrCat(session.message_count())},
      {"turn", TurnText(session)},
      {"lease", LeaseText(session.lease())},
      {"kind", KindName(session.kind())},
      {"mode", EnumText(v1::Mode_Name(manifest.mode()), "MODE_")},
      {"project", manifest.project_root()},
      {"created", ShortTime(session.create_time())},
      {"updated", ShortTime(session.update_time())},
      {"store", session.store_id()},
      {"uid", session.session_uid()},
      {"digest", absl::BytesToHexString(session.history_digest())},
  };
  if (session.items_version() != 0) {
    rows.push_back({"items", absl::StrCat("version ", session.items_version())});
  }
  if (session.checkpoint_count() != 0) {
    rows.push_back({"checkpoints", absl::StrCat(session.checkpoint_count())});
  }
  if (session.compaction_count() != 0) {
    rows.push_back({"compactions", absl::StrCat(session.compaction_count())});
  }
  rows.push_back({"context", absl::StrCat(session.context_number())});
  if (!session.group().empty()) rows.push_back({"group", session.group()});
  AddTrace("trace of turn", session.last_turn_trace_id(), rows);
  AddTrace("trace of snapshot", session.snapshot_trace_id(), rows);
  if (manifest.has_state_machine()) {
    rows.push_back(
        {"state machine", absl::StrCat(manifest.state_machine().extension_id(), " in slot ",
                                       manifest.state_machine().slot_ref())});
  }
  for (const v1::CancelRequest& mark : session.cancel_requests()) {
    rows.push_back({"cancel", MarkText(mark)});
  }
  const std::map<std::string, std::string> attributes(session.attributes().begin(),
                                                      session.attributes().end());
  for (const auto& [key, value] : attributes) {
    rows.push_back({"attribute", Cut(Printable(absl::StrCat(key, "=", value)), kAttributeColumns)});
  }
  WriteTable(out, rows);
}

Row SessionHeading() {
  return {"SESSION", "STATE", "REVISION", "MESSAGES", "UPDATED", "PROJECT", "TITLE"};
}

Row SessionRow(const v1::SessionSummary& session) {
  const bool readable = session.has_update_time();
  return {session.session_id(),
          SummaryState(session),
          absl::StrCat(session.revision()),
          absl::StrCat(session.message_count()),
          readable ? ShortTime(session.update_time()) : "-",
          Cut(Printable(session.project_root()), kProjectColumns),
          Cut(Printable(session.title()), kTitleColumns)};
}

Row SessionHeading(const RowContent& content) {
  Row heading = SessionHeading();
  heading.insert(heading.end(), content.attributes.begin(), content.attributes.end());
  heading.insert(heading.end(), content.slots.begin(), content.slots.end());
  return heading;
}

Row SessionRow(const v1::SessionSummary& session, const RowContent& content) {
  Row row = SessionRow(session);
  for (const std::string& name : content.attributes) row.push_back(AttributeCell(session, name));
  for (const std::string& owner : content.slots) row.push_back(SlotCell(session, owner));
  return row;
}

}  // namespace holdfast::cli
