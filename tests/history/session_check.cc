#include "tests/history/session_check.h"

#include "tests/history/refusals.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::history {
namespace {

std::string Instead(std::string_view what, uint64_t got, uint64_t should) {
  return absl::StrCat(std::string(what), " ", got, " instead of ", should);
}

}  // namespace

void SessionCheck::Run() {
  FindWindows();
  CheckEnding();
  for (size_t i = 0; i < windows_.size(); ++i) {
    const Request* const request = requests_.Of(i);
    const bool first = request != nullptr && request->first == requests_.operations()[i];
    if (first) CheckRequest(*request, windows_[i]);
    CheckOperation(i);
  }
}

bool SessionCheck::Shows(const Operation& operation, const Request& request) const {
  if (request.step == kNoStep || Reconnected(operation)) return false;
  return operation.asked.method != Method::kClose ||
         operation.answered.revision == timeline_.At(request.step).revision;
}

Step SessionCheck::ShownBy(size_t index) const {
  const Operation& operation = *requests_.operations()[index];
  const Request* const request = requests_.Of(index);
  if (request != nullptr && Shows(operation, *request)) return request->step;
  const auto [first, last] = timeline_.OfRevision(operation.answered.revision);
  const bool given_back = operation.asked.method == Method::kReadHead && !operation.answered.held;
  return given_back && timeline_.At(first).held ? last : first;
}

void SessionCheck::FindWindows() {
  const std::vector<const Operation*>& operations = requests_.operations();
  windows_.resize(operations.size());
  std::vector<std::pair<int64_t, size_t>> returned;
  returned.reserve(operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = *operations[i];
    if (operation.answered.outcome == Outcome::kOk) returned.emplace_back(operation.returned, i);
  }
  std::sort(returned.begin(), returned.end());
  Step low = 0;
  auto next = returned.begin();
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = *operations[i];
    for (; next != returned.end() && next->first < operation.invoked; ++next) {
      low = std::max(low, ShownBy(next->second));
    }
    windows_[i].low = low;
    const bool bounded = operation.answered.outcome != Outcome::kUnknown;
    windows_[i].high = bounded ? timeline_.Possible(operation.returned) : timeline_.last();
  }
}

void SessionCheck::CheckEnding() {
  const State& last = timeline_.At(timeline_.last());
  const Answered& head = ending_.head;
  const Digest* const digest = timeline_.DigestOf(last.messages);
  const bool same_head = head.revision == last.revision && head.epoch == last.epoch &&
                         head.held == last.held && head.lifecycle == last.lifecycle &&
                         head.turn == last.turn && head.last_turn == last.last_turn;
  if (!same_head) {
    Complain(Rule::kEnding, absl::StrCat("its head has revision ", head.revision, ", epoch ",
                                         head.epoch, ", turn ", head.turn, " of ", head.last_turn,
                                         "; its log ends with ", last.revision, ", ", last.epoch,
                                         ", ", last.turn, " of ", last.last_turn));
  }
  if (head.messages != last.messages || ending_.messages != last.messages) {
    Complain(Rule::kEnding, absl::StrCat("it has ", ending_.messages, " messages and says ",
                                         head.messages, "; its log adds up to ", last.messages));
  }
  if (digest == nullptr || head.digest != *digest || ending_.digest != *digest) {
    Complain(Rule::kEnding, "its messages are not those that were written");
  }
  if (ending_.slot != last.slot) {
    Complain(Rule::kEnding, absl::StrCat("its slot is ", ToText(ending_.slot), "'s and not ",
                                         ToText(last.slot), "'s"));
  }
}

void SessionCheck::CheckRequest(const Request& request, const Window& first_sent) {
  const Operation& first = *request.first;
  if (request.acts > 1) {
    Complain(Rule::kActedTwice, first,
             absl::StrCat(request.acts, " answers do not say that they are repeats"));
  }
  if (request.step == kNoStep) return;
  if (request.answered == nullptr && !request.open) {
    Complain(Rule::kRefusedActed, first, absl::StrCat("line ", request.step, " of the log"));
  }
  if (request.step <= first_sent.low) {
    Complain(Rule::kOrder, first,
             absl::StrCat("line ", request.step, " of the log; line ", first_sent.low,
                          " had been seen when it was sent"));
  }
  if (request.answered != nullptr && request.step > timeline_.Possible(request.acknowledged)) {
    Complain(Rule::kOrder, first,
             absl::StrCat("line ", request.step,
                          " of the log; a line before it was sent when this had come back"));
  }
}

void SessionCheck::CheckOperation(size_t index) {
  const Operation& operation = *requests_.operations()[index];
  const Window& window = windows_[index];
  if (operation.answered.outcome == Outcome::kUnknown) return;
  if (operation.answered.outcome == Outcome::kRefused) return CheckRefusal(operation, window);
  switch (operation.asked.method) {
    case Method::kReadHead:
      return CheckHead(operation, window);
    case Method::kReadMessages:
      return CheckMessages(operation, window);
    case Method::kReadSlot:
      return CheckSlot(operation, window);
    case Method::kRenew:
      return CheckHolder(operation, window);
    case Method::kAppend:
      return CheckAppend(operation, window);
    default:
      break;
  }
  const Request& request = *requests_.Of(index);
  if (!Shows(operation, request)) return CheckAsItWas(operation, window);
  CheckAct(operation, request);
}

void SessionCheck::CheckRefusal(const Operation& operation, const Window& window) {
  const Cause cause = operation.answered.cause;
  for (Step step = window.low; step <= window.high; ++step) {
    if (Justified(operation.asked, cause, timeline_.At(step))) return;
  }
  const State& state = timeline_.At(window.high);
  Complain(Rule::kRefusal, operation,
           absl::StrCat(std::string(Name(cause)), " with the token of epoch ",
                        operation.asked.epoch, ", turn ", operation.asked.turn,
                        "; the session was at line ", window.low, " to ", window.high,
                        " of its log, at last in epoch ", state.epoch, ", turn ", state.turn));
}

void SessionCheck::CheckAct(const Operation& operation, const Request& request) {
  const Answered& answered = operation.answered;
  const State& before = timeline_.At(request.step - 1);
  const State& state = timeline_.At(request.step);
  if (request.answered != &operation) CheckRepeat(operation, *request.answered);
  if (answered.revision != state.revision) {
    Complain(Rule::kRevision, operation, Instead("revision", answered.revision, state.revision));
  }
  switch (operation.asked.method) {
    case Method::kCreate:
    case Method::kResume:
      return CheckGrant(operation, request.step);
    case Method::kBegin:
      if (answered.turn != state.turn) {
        Complain(Rule::kTurn, operation, Instead("turn", answered.turn, state.turn));
      }
      return;
    case Method::kCommit:
      return CheckCommit(operation, state);
    case Method::kClose:
      return CheckAbandoned(operation, before);
    default:
      return;
  }
}

void SessionCheck::CheckGrant(const Operation& operation, Step step) {
  const Answered& answered = operation.answered;
  const State& before = timeline_.At(step - 1);
  const uint64_t epoch = timeline_.At(step).epoch;
  const bool wiped = answered.repeated && answered.token == 0;  // its epoch has passed
  if (!wiped && answered.epoch != epoch) {
    Complain(Rule::kGrant, operation, Instead("epoch", answered.epoch, epoch));
  }
  if (operation.asked.method == Method::kCreate) return;
  if (answered.before != before.revision) {
    Complain(Rule::kReport, operation, Instead("found revision", answered.before, before.revision));
  }
  CheckAbandoned(operation, before);
  const TurnEntries entries = timeline_.EntriesOf(before.turn);
  if (answered.entry < entries.acknowledged || answered.entry > entries.asked) {
    Complain(
        Rule::kEntries, operation,
        absl::StrCat("dropped ", answered.entry, " entries of turn ", before.turn, ", of which ",
                     entries.acknowledged, " were acknowledged and ", entries.asked, " sent"));
  }
}

void SessionCheck::CheckCommit(const Operation& operation, const State& state) {
  const Answered& answered = operation.answered;
  if (answered.messages != state.messages) {
    Complain(Rule::kCount, operation, Instead("messages", answered.messages, state.messages));
  }
  if (answered.turn != state.turn) {
    Complain(Rule::kTurn, operation, Instead("next turn", answered.turn, state.turn));
  }
  const TurnEntries entries = timeline_.EntriesOf(operation.asked.turn);
  if (answered.entry < entries.acknowledged || answered.entry > entries.asked) {
    Complain(Rule::kEntries, operation,
             absl::StrCat("holds ", answered.entry, " entries, of which ", entries.acknowledged,
                          " were acknowledged and ", entries.asked, " sent"));
  }
}

void SessionCheck::CheckAbandoned(const Operation& operation, const State& before) {
  if (operation.answered.abandoned_turn == before.turn) return;
  Complain(Rule::kReport, operation,
           Instead("abandoned turn", operation.answered.abandoned_turn, before.turn));
}

void SessionCheck::CheckRepeat(const Operation& operation, const Operation& first) {
  const Answered& a = first.answered;
  const Answered& b = operation.answered;
  const bool same_token = a.token == b.token || a.token == 0 || b.token == 0;
  const bool same = a.revision == b.revision && a.turn == b.turn && a.messages == b.messages &&
                    a.entry == b.entry && a.before == b.before &&
                    a.abandoned_turn == b.abandoned_turn && same_token;
  if (same) return;
  Complain(Rule::kRepeat, operation,
           absl::StrCat("revision ", b.revision, ", turn ", b.turn, ", messages ", b.messages,
                        "; the first time ", a.revision, ", ", a.turn, ", ", a.messages));
}

void SessionCheck::CheckAsItWas(const Operation& operation, const Window& window) {
  if (Reconnected(operation)) return CheckHolder(operation, window);
  const bool closes = operation.asked.method == Method::kClose;
  const bool closed = closes && AnyFits(operation, window, [](const State& state) {
                        return state.lifecycle == Lifecycle::kClosed;
                      });
  if (closed) return;
  Complain(Rule::kLost, operation,
           absl::StrCat("acknowledged as revision ", operation.answered.revision,
                        ", and not in the log"));
}

void SessionCheck::CheckHolder(const Operation& operation, const Window& window) {
  if (!CheckWindow(operation, window)) return;
  const uint64_t epoch = operation.asked.epoch;
  if (AnyFits(operation, window,
              [&](const State& state) { return state.epoch == epoch && state.held; })) {
    return;
  }
  Complain(Rule::kOldEpoch, operation,
           absl::StrCat("accepted with the token of epoch ", epoch, " at revision ",
                        operation.answered.revision));
}

void SessionCheck::CheckAppend(const Operation& operation, const Window& window) {
  CheckHolder(operation, window);
  const Asked& asked = operation.asked;
  const uint64_t most = timeline_.EntriesOf(asked.turn).asked;
  if (operation.answered.entry < asked.last_entry || operation.answered.entry > most) {
    Complain(Rule::kEntries, operation,
             absl::StrCat("the turn's last entry is ", operation.answered.entry, ", of ",
                          asked.last_entry, " to ", most));
  }
  const bool fits =
      AnyFits(operation, window, [&](const State& state) { return state.turn == asked.turn; });
  if (fits) return;
  Complain(
      Rule::kIllegal, operation,
      absl::StrCat("added to turn ", asked.turn, " at revision ", operation.answered.revision));
}

void SessionCheck::CheckHead(const Operation& operation, const Window& window) {
  if (!CheckWindow(operation, window)) return;
  const Answered& head = operation.answered;
  const State& state = timeline_.At(timeline_.OfRevision(head.revision).first);
  if (head.messages != state.messages) {
    Complain(Rule::kCount, operation, Instead("messages", head.messages, state.messages));
  } else if (head.digest != *timeline_.DigestOf(state.messages)) {
    Complain(Rule::kDigest, operation, absl::StrCat("of revision ", head.revision));
  }
  if (head.turn != state.turn || head.last_turn != state.last_turn) {
    Complain(Rule::kTurn, operation, Instead("turn", head.turn, state.turn));
  }
  const bool fits = AnyFits(operation, window, [&](const State& at) {
    return at.epoch == head.epoch && at.lifecycle == head.lifecycle && at.held == head.held;
  });
  if (fits) return;
  Complain(Rule::kUnwritten, operation,
           absl::StrCat("no such state of revision ", head.revision, ": epoch ", head.epoch,
                        head.held ? ", held" : ", free"));
}

void SessionCheck::CheckMessages(const Operation& operation, const Window& window) {
  if (!CheckWindow(operation, window)) return;
  const Answered& read = operation.answered;
  const State& state = timeline_.At(timeline_.OfRevision(read.revision).first);
  const Digest* const digest = timeline_.DigestOf(read.messages);
  const bool fewer = read.complete && read.messages < state.messages;
  if (read.messages > state.messages || fewer || digest == nullptr) {
    Complain(Rule::kCount, operation, Instead("messages", read.messages, state.messages));
  } else if (read.digest != *digest) {
    Complain(Rule::kDigest, operation, absl::StrCat("of the first ", read.messages, " messages"));
  }
}

void SessionCheck::CheckSlot(const Operation& operation, const Window& window) {
  if (!CheckWindow(operation, window)) return;
  const Answered& read = operation.answered;
  const Uuid& slot = timeline_.At(timeline_.OfRevision(read.revision).first).slot;
  if (read.slot == slot) return;
  Complain(Rule::kUnwritten, operation,
           absl::StrCat("the slot of ", ToText(read.slot), " at revision ", read.revision,
                        ", which is ", ToText(slot), "'s"));
}

bool SessionCheck::CheckWindow(const Operation& operation, const Window& window) {
  const uint64_t revision = operation.answered.revision;
  const auto [first, last] = timeline_.OfRevision(revision);
  if (last == kNoStep) {
    Complain(Rule::kUnwritten, operation, absl::StrCat("revision ", revision, " never was"));
    return false;
  }
  if (last < window.low) {
    Complain(Rule::kStale, operation,
             absl::StrCat("revision ", revision, "; ", timeline_.At(window.low).revision,
                          " had been seen when it was sent"));
    return false;
  }
  if (first > window.high) {
    Complain(Rule::kEarly, operation,
             absl::StrCat("revision ", revision, "; ", timeline_.At(window.high).revision,
                          " was the last that can have been there"));
    return false;
  }
  return true;
}

bool SessionCheck::AnyFits(const Operation& operation, const Window& window, Fits fits) const {
  const auto [first, last] = timeline_.OfRevision(operation.answered.revision);
  for (Step step = std::max(first, window.low); step <= std::min(last, window.high); ++step) {
    if (step != kNoStep && fits(timeline_.At(step))) return true;
  }
  return false;
}

void SessionCheck::Complain(Rule rule, const std::string& text) {
  complaints_.push_back({.rule = rule, .session = ending_.session, .text = text});
}

void SessionCheck::Complain(Rule rule, const Operation& operation, const std::string& text) {
  Complain(rule, absl::StrCat(Describe(operation), ": ", text));
}

}  // namespace holdfast::history
