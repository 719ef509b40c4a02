// Sessions as tables for people.
#ifndef HOLDFAST_CLI_SESSION_VIEW_H_
#define HOLDFAST_CLI_SESSION_VIEW_H_

#include "cli/table.h"
#include "holdfast/v1/session.pb.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::cli {

// The state's name as people write it, for example "persisted".
std::string StateName(v1::Lifecycle lifecycle);

// The names of all states, for a command line to choose from.
std::vector<std::string> StateNames();

// The state `name` names; LIFECYCLE_UNSPECIFIED when there is none.
v1::Lifecycle StateOf(const std::string& name);

// The kind's name as people write it, for example "open"; all of them; the kind that `name` names,
// SESSION_KIND_UNSPECIFIED when there is none.
std::string KindName(v1::SessionKind kind);
std::vector<std::string> KindNames();
v1::SessionKind KindOf(const std::string& name);

// What is asked to end, for example "tool grep of turn 3".
std::string ScopeText(v1::CancelScope scope, const std::string& name, uint64_t turn);

// One session, one fact a line.
void WriteSession(std::ostream& out, const v1::Session& session);

// A session of a listing as a row of a table, and the heading of its columns.
Row SessionHeading();
Row SessionRow(const v1::SessionSummary& session);

// What rows of a listing have behind those columns.
struct RowContent {
  std::vector<std::string> attributes;  // names
  std::vector<std::string> slots;       // owners
};

// The same with a column for each of `content`: the value of an attribute, and the data of a slot,
// or its size where the row has no data.
Row SessionHeading(const RowContent& content);
Row SessionRow(const v1::SessionSummary& session, const RowContent& content);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_VIEW_H_
