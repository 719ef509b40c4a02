#include "server/telemetry/turn_span.h"

#include "platform/digest.h"
#include "platform/encoding.h"
#include "session/lifecycle.h"
#include "session/model.h"
#include "session/names.h"

#include "absl/strings/escaping.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

std::string DerivedSpanId(std::string_view kind, const SessionUid& session, uint64_t number) {
  Encoder out;
  out.Text(kind).Text(session.value()).Number(number);
  return absl::BytesToHexString(std::string(View(Sha256(out.bytes())).substr(0, kSpanIdBytes)));
}

void AddLink(std::string_view relation, const TraceRef& trace, std::string span_id,
             std::vector<SpanLink>& links) {
  if (!trace.sampled || trace.id.empty()) return;
  links.push_back(
      {.trace_id = trace.id, .span_id = std::move(span_id), .relation = std::string(relation)});
}

bool HasFailed(TurnOutcome outcome) {
  return outcome == TurnOutcome::kError || outcome == TurnOutcome::kRecovered;
}

}  // namespace

std::string TurnSpanId(const SessionUid& session, TurnNumber turn) {
  return DerivedSpanId("turn", session, turn.value());
}

std::string TransitionSpanId(const SessionUid& session, Revision revision) {
  return DerivedSpanId("transition", session, revision.value());
}

std::optional<Span> TurnSpanOf(const Change& change, const Head& after) {
  if (!change.end_turn || !change.end_turn->known) return std::nullopt;
  const TurnRecord& turn = change.end_turn->known->turn;
  if (!turn.trace.sampled || turn.trace.id.empty()) return std::nullopt;
  const TurnOutcome outcome = change.end_turn->outcome;
  const std::string& session = change.key.session.value();
  Span span{.trace_id = turn.trace.id,
            .span_id = TurnSpanId(after.uid, turn.number),
            .parent_span_id = turn.parent_span_id,
            .remote_parent = true,
            .name = "session.turn",
            .start = turn.started_at,
            .end = std::max(turn.started_at, after.updated_at)};
  span.attributes = {{"session.id", session},
                     {"gen_ai.conversation.id", session},
                     {"holdfast.turn.number", static_cast<int64_t>(turn.number.value())},
                     {"holdfast.turn.source", Name(turn.source)},
                     {"holdfast.turn.outcome", Name(outcome)},
                     {"holdfast.session.revision", static_cast<int64_t>(after.revision.value())}};
  if (HasFailed(outcome)) span.status = {.failed = true, .message = Name(outcome)};
  if (turn.number > TurnNumber(1)) {
    AddLink("previous_turn", change.end_turn->known->previous,
            TurnSpanId(after.uid, TurnNumber(turn.number.value() - 1)), span.links);
  }
  return span;
}

std::vector<SpanLink> TransitionLinks(const Change& change, const Head& after) {
  std::vector<SpanLink> links;
  if (change.end_turn && change.end_turn->known) {
    const TurnRecord& turn = change.end_turn->known->turn;
    AddLink("ended_turn", turn.trace, TurnSpanId(after.uid, turn.number), links);
  }
  if (change.guard.trigger == Trigger::kResume && !change.snapshot && !after.snapshots.empty()) {
    AddLink("last_snapshot", after.snapshot_trace,
            TransitionSpanId(after.uid, after.snapshots.back().at.revision), links);
  }
  return links;
}

}  // namespace holdfast
