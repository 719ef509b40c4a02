#include "tests/history/timeline.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <string_view>

namespace holdfast::history {
namespace {

// What the audit chain calls a method's act.
std::string_view CodeOf(Method method) {
  switch (method) {
    case Method::kCreate:
      return "start";
    case Method::kResume:
      return "resume";
    case Method::kBegin:
      return "TurnStarted";
    case Method::kCommit:
    case Method::kAbandon:
      return "TurnEnded";
    case Method::kRelease:
      return "release";
    case Method::kClose:
      return "end";
    default:
      return "";
  }
}

bool NeedsLease(Method method) {
  return method == Method::kBegin || method == Method::kCommit || method == Method::kAbandon ||
         method == Method::kRelease;
}

// The server's own act in a session whose holder is gone.
State Recovered(const State& before) {
  State state = before;
  ++state.revision;
  ++state.epoch;
  state.held = false;
  state.turn = 0;
  state.lifecycle = Lifecycle::kClosed;
  state.by = nullptr;
  return state;
}

// Where an abandoned turn leaves a session: what it was created with is revision 1's, and every
// message since came with a commit, and so did the slot.
Lifecycle LeftBy(const State& before) {
  return before.slot == Uuid() ? Lifecycle::kIdle : Lifecycle::kPersisted;
}

}  // namespace

Timeline::Timeline(Requests& requests, const Ending& ending, Complaints& complaints)
    : session_(ending.session), complaints_(complaints) {
  states_.reserve(ending.log.size() + 1);
  earliest_.reserve(ending.log.size() + 1);
  states_.emplace_back();
  earliest_.push_back(0);
  steps_.emplace_back(0, 0);
  digests_.emplace_back();
  for (const Operation* operation : requests.operations()) {
    const Asked& asked = operation->asked;
    if (asked.method != Method::kAppend) continue;
    if (entries_.size() <= asked.turn) entries_.resize(asked.turn + 1);
    TurnEntries& entries = entries_[asked.turn];
    entries.asked = std::max(entries.asked, asked.last_entry);
    if (operation->answered.outcome != Outcome::kOk) continue;
    entries.acknowledged = std::max(entries.acknowledged, asked.last_entry);
  }
  for (const LogLine& line : ending.log) Take(requests, line);
}

std::pair<Step, Step> Timeline::OfRevision(uint64_t revision) const {
  return revision < steps_.size() ? steps_[revision] : std::pair<Step, Step>(0, 0);
}

Step Timeline::Possible(int64_t time) const {
  const auto behind = std::upper_bound(earliest_.begin(), earliest_.end(), time);
  return static_cast<Step>(behind - earliest_.begin()) - 1;
}

const Digest* Timeline::DigestOf(uint64_t messages) const {
  return messages < digests_.size() ? &digests_[messages] : nullptr;
}

TurnEntries Timeline::EntriesOf(uint64_t turn) const {
  return turn < entries_.size() ? entries_[turn] : TurnEntries();
}

void Timeline::Take(Requests& requests, const LogLine& line) {
  const State& before = states_.back();
  const Step step = states_.size();
  if (line.seq != step) {
    Complain(Rule::kEnding, absl::StrCat("the log's line ", step, " has the number ", line.seq));
  }
  Request* const request = line.request == Uuid() ? nullptr : requests.Find(line.request);
  State state;
  if (request == nullptr) {
    if (line.request != Uuid() || line.code != "end") {
      Complain(Rule::kUnrequested, absl::StrCat("line ", step, " of the log, ", line.code,
                                                ", request ", ToText(line.request)));
    }
    state = Recovered(before);
    earliest_.push_back(earliest_.back());
  } else {
    if (line.code != CodeOf(request->first->asked.method)) {
      Complain(Rule::kUnrequested, *request, absl::StrCat("the log calls it ", line.code));
    }
    if (request->step != kNoStep) {
      Complain(Rule::kActedTwice, *request,
               absl::StrCat("lines ", request->step, " and ", step, " of the log"));
    } else {
      request->step = step;
    }
    state = After(before, *request);
    ForgetClosed(state, *request);
    earliest_.push_back(std::max(earliest_.back(), request->first->invoked));
  }
  if (line.revision != state.revision || line.epoch != state.epoch) {
    Complain(Rule::kEnding,
             absl::StrCat("line ", step, " of the log has revision ", line.revision, " and epoch ",
                          line.epoch, " instead of ", state.revision, " and ", state.epoch));
  }
  states_.push_back(state);
  if (steps_.size() <= state.revision) steps_.resize(state.revision + 1, {step, step});
  steps_[state.revision].second = step;
}

// A close that found the session closed did nothing, and another copy of it acted later: what came
// back is not the answer to that.
void Timeline::ForgetClosed(const State& state, Request& request) {
  const Operation* const answered = request.answered;
  if (answered == nullptr || answered->asked.method != Method::kClose) return;
  if (answered->answered.revision == state.revision) return;
  request.answered = nullptr;
  request.acknowledged = kNever;
}

State Timeline::After(const State& before, const Request& request) {
  const Asked& asked = request.first->asked;
  State state = before;
  state.by = &request;
  if (NeedsLease(asked.method)) CheckHeld(before, request);
  CheckTurn(before, request);
  if (asked.method != Method::kRelease) ++state.revision;
  state.alive = std::max(state.alive, request.first->invoked);
  switch (asked.method) {
    case Method::kCreate:
    case Method::kResume:
      AfterGrant(request, state);
      break;
    case Method::kBegin:
      state.turn = ++state.last_turn;
      state.lifecycle = Lifecycle::kActive;
      break;
    case Method::kCommit:
      for (const Digest& item : asked.items) digests_.push_back(Extend(digests_.back(), item));
      state.messages += asked.items.size();
      state.slot = asked.request;
      state.turn = asked.begin_next ? ++state.last_turn : 0;
      state.lifecycle = asked.begin_next ? Lifecycle::kActive : Lifecycle::kPersisted;
      break;
    case Method::kAbandon:
      state.turn = 0;
      state.lifecycle = LeftBy(before);
      break;
    case Method::kRelease:
      state.held = false;
      break;
    case Method::kClose:
      AfterClose(request, state);
      break;
    default:
      Complain(Rule::kUnrequested, request, "this changes no session");
  }
  return state;
}

void Timeline::AfterGrant(const Request& request, State& state) {
  const Asked& asked = request.first->asked;
  const bool creates = asked.method == Method::kCreate;
  if (creates != (state.revision == 1)) {
    Complain(Rule::kIllegal, request, creates ? "there was one" : "there was none");
  }
  const bool taken = !creates && !asked.force && state.held;
  if (taken) CheckExpired(states_.back(), request);
  ++state.epoch;
  state.held = true;
  state.turn = 0;
  state.lifecycle = creates ? Lifecycle::kIdle : Lifecycle::kResumed;
  state.ttl_ns = asked.ttl_ns;
  state.alive = request.first->invoked;
}

void Timeline::AfterClose(const Request& request, State& state) {
  if (state.lifecycle == Lifecycle::kClosed) {
    Complain(Rule::kIllegal, request, "closed a closed session");
  }
  const bool holder = request.first->asked.epoch == state.epoch;
  if (state.held && !holder) CheckExpired(states_.back(), request);
  state.held = false;
  state.turn = 0;
  state.lifecycle = Lifecycle::kClosed;
}

void Timeline::CheckHeld(const State& before, const Request& request) {
  const uint64_t epoch = request.first->asked.epoch;
  if (epoch != before.epoch) {
    Complain(Rule::kOldEpoch, request,
             absl::StrCat("acted with the token of epoch ", epoch, " in epoch ", before.epoch));
  } else if (!before.held) {
    Complain(Rule::kOldEpoch, request, "acted with a token that had been given back");
  }
}

void Timeline::CheckTurn(const State& before, const Request& request) {
  const Asked& asked = request.first->asked;
  const bool begins = asked.method == Method::kBegin;
  const bool ends = asked.method == Method::kCommit || asked.method == Method::kAbandon;
  if (begins && (before.turn != 0 || before.lifecycle == Lifecycle::kClosed)) {
    Complain(Rule::kIllegal, request,
             absl::StrCat("began while turn ", before.turn, " was active"));
  }
  if (ends && (before.turn == 0 || asked.turn != before.turn)) {
    Complain(Rule::kIllegal, request,
             absl::StrCat("ended turn ", asked.turn, " while turn ", before.turn, " was active"));
  }
  if (asked.expected_revision != 0 && asked.expected_revision != before.revision) {
    Complain(Rule::kIllegal, request,
             absl::StrCat("expected revision ", asked.expected_revision, " and acted on ",
                          before.revision));
  }
}

// The lease expired at the earliest one TTL after its last renewal began, and the answer to the
// next grant came after that.
void Timeline::CheckExpired(const State& before, const Request& request) {
  if (request.acknowledged == kNever) return;
  const int64_t free_at = before.alive + before.ttl_ns;
  if (request.acknowledged >= free_at) return;
  Complain(Rule::kLease, request,
           absl::StrCat("the lease of epoch ", before.epoch, " had ",
                        free_at - request.acknowledged, " ns left when this came back"));
}

void Timeline::Complain(Rule rule, const std::string& text) {
  complaints_.push_back({.rule = rule, .session = session_, .text = text});
}

void Timeline::Complain(Rule rule, const Request& request, const std::string& text) {
  Complain(rule, absl::StrCat(Describe(*request.first), ": ", text));
}

}  // namespace holdfast::history
