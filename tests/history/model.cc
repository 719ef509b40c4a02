#include "tests/history/model.h"

#include <algorithm>

namespace holdfast::history {
namespace {

Answered Refuse(Cause cause) {
  Answered answered;
  answered.outcome = Outcome::kRefused;
  answered.cause = cause;
  return answered;
}

// Returns a number that identifies the text of a token.
uint64_t TokenOf(uint32_t session, uint64_t epoch) { return (uint64_t{session} << 32U) + epoch; }

}  // namespace

Answered Model::Do(const Asked& asked, int64_t now) {
  const auto stored = replies_.find(asked.request);
  if (asked.request != Uuid() && stored != replies_.end()) {
    Answered answered = stored->second;
    answered.repeated = true;
    if (answered.token != 0 && answered.epoch != epoch_) answered.token = answered.epoch = 0;
    return answered;
  }
  const Cause cause = Classify(asked, now);
  if (cause != Cause::kNone) return Refuse(cause);
  return Act(asked, now);
}

Answered Model::Head() const {
  Answered head;
  head.outcome = Outcome::kOk;
  head.revision = revision_;
  head.epoch = epoch_;
  head.held = held_;
  head.lifecycle = lifecycle_;
  head.turn = turn_;
  head.last_turn = last_turn_;
  head.messages = digests_.size() - 1;
  head.digest = digests_.back();
  return head;
}

Ending Model::End() const {
  return {.session = session_,
          .head = Head(),
          .messages = digests_.size() - 1,
          .digest = digests_.back(),
          .slot = slot_,
          .log = log_};
}

Cause Model::Classify(const Asked& asked, int64_t now) const {
  if (asked.method == Method::kCreate) return revision_ > 0 ? Cause::kSessionExists : Cause::kNone;
  if (revision_ == 0) return Cause::kSessionNotFound;
  const bool live = held_ && now < expires_;
  const bool current = held_ && asked.epoch == epoch_;
  switch (asked.method) {
    case Method::kResume:
      return live && !asked.force && !current ? Cause::kLeaseHeld : Cause::kNone;
    case Method::kClose:
      return live && !current ? Cause::kFenced : Cause::kNone;
    case Method::kReadHead:
    case Method::kReadMessages:
    case Method::kReadSlot:
      return Cause::kNone;
    default:
      return ClassifyHeld(asked);
  }
}

Cause Model::ClassifyHeld(const Asked& asked) const {
  if (asked.epoch < epoch_) return Cause::kFenced;
  if (!held_) return Cause::kLeaseRequired;
  const bool ends = asked.method == Method::kCommit || asked.method == Method::kAbandon;
  if (asked.method == Method::kBegin) {
    if (lifecycle_ == Lifecycle::kClosed) return Cause::kIllegalTransition;
    if (turn_ != 0) return Cause::kConcurrentTurn;
  }
  if (ends && turn_ == 0) return Cause::kIllegalTransition;
  const bool names_turn = ends || asked.method == Method::kAppend;
  if (names_turn && asked.turn != turn_) return Cause::kStaleTurn;
  const bool stale = asked.expected_revision != 0 && asked.expected_revision != revision_;
  return stale ? Cause::kStaleRevision : Cause::kNone;
}

Answered Model::Read(const Asked& asked) const {
  if (asked.method == Method::kReadHead) return Head();
  Answered answered;
  answered.outcome = Outcome::kOk;
  answered.revision = revision_;
  if (asked.method == Method::kReadSlot) answered.slot = slot_;
  if (asked.method != Method::kReadMessages) return answered;
  answered.complete = true;
  answered.messages = digests_.size() - 1;
  answered.digest = digests_.back();
  return answered;
}

void Model::Write(const Asked& asked, const char* code) {
  if (asked.method != Method::kRelease) ++revision_;
  log_.push_back({.seq = log_.size() + 1,
                  .revision = revision_,
                  .epoch = epoch_,
                  .code = code,
                  .request = asked.request});
}

void Model::Grant(const Asked& asked, int64_t now, Answered& answered) {
  answered.before = revision_;
  answered.abandoned_turn = turn_;
  answered.entry = turn_ == 0 ? 0 : entry_;
  answered.epoch = ++epoch_;
  answered.token = TokenOf(session_, epoch_);
  turn_ = 0;
  held_ = true;
  ttl_ = asked.ttl_ns;
  expires_ = now + ttl_;
  const bool creates = asked.method == Method::kCreate;
  lifecycle_ = creates ? Lifecycle::kIdle : Lifecycle::kResumed;
  Write(asked, creates ? "start" : "resume");
}

void Model::Commit(const Asked& asked, Answered& answered) {
  for (const Digest& item : asked.items) digests_.push_back(Extend(digests_.back(), item));
  slot_ = asked.request;
  answered.messages = digests_.size() - 1;
  answered.entry = entry_;
  entry_ = 0;
  turn_ = asked.begin_next ? ++last_turn_ : 0;
  answered.turn = turn_;
  lifecycle_ = asked.begin_next ? Lifecycle::kActive : Lifecycle::kPersisted;
  Write(asked, "TurnEnded");
}

Answered Model::Act(const Asked& asked, int64_t now) {
  Answered answered;
  answered.outcome = Outcome::kOk;
  if (held_ && asked.epoch == epoch_) expires_ = now + ttl_;
  const bool reconnects = asked.method == Method::kResume && held_ && asked.epoch == epoch_;
  switch (asked.method) {
    case Method::kCreate:
    case Method::kResume:
      if (!reconnects) {
        Grant(asked, now, answered);
        break;
      }
      answered.epoch = epoch_;
      answered.token = TokenOf(session_, epoch_);
      break;
    case Method::kBegin:
      answered.turn = turn_ = ++last_turn_;
      entry_ = 0;
      lifecycle_ = Lifecycle::kActive;
      Write(asked, "TurnStarted");
      break;
    case Method::kAppend:
      answered.entry = entry_ = std::max(entry_, asked.last_entry);
      break;
    case Method::kCommit:
      Commit(asked, answered);
      break;
    case Method::kAbandon:
      turn_ = 0;
      lifecycle_ = slot_ == Uuid() ? Lifecycle::kIdle : Lifecycle::kPersisted;
      Write(asked, "TurnEnded");
      break;
    case Method::kRelease:
      held_ = false;
      Write(asked, "release");
      break;
    case Method::kClose:
      answered.revision = revision_;
      if (lifecycle_ == Lifecycle::kClosed) return answered;
      answered.abandoned_turn = turn_;
      turn_ = 0;
      held_ = false;
      lifecycle_ = Lifecycle::kClosed;
      Write(asked, "end");
      break;
    case Method::kRenew:
      break;
    default:
      return Read(asked);
  }
  answered.revision = revision_;
  const bool stored = asked.request != Uuid() && !reconnects;
  if (stored) replies_[asked.request] = answered;
  return answered;
}

}  // namespace holdfast::history
