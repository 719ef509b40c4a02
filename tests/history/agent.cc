#include "tests/history/agent.h"

#include <algorithm>

namespace holdfast::history {
namespace {

constexpr uint64_t kVersionBits = 0xf000ULL;
constexpr uint64_t kVersion4 = 0x4000ULL;
constexpr uint64_t kVariantBits = 0xc000000000000000ULL;
constexpr uint64_t kVariant = 0x8000000000000000ULL;
constexpr uint64_t kMostEntries = 3;  // of one append
constexpr uint64_t kMostItems = 2;    // of one commit

// Whether another copy is answered with the reply that was stored. Nothing is stored of a close or
// a reconnect that found nothing to do.
bool Repeatable(const Asked& asked) {
  const bool reconnects = asked.method == Method::kResume && asked.epoch != 0;
  return asked.request != Uuid() && asked.method != Method::kClose && !reconnects;
}

}  // namespace

Agent::Agent(uint32_t sessions, int64_t ttl_ns, uint64_t seed)
    : ttl_ns_(ttl_ns), random_(seed), holds_(sessions) {}

Asked Agent::Next() {
  if (repeat_) {
    repeat_ = false;
    return asked_;
  }
  echo_ = false;
  odd_ = false;
  if (Chance(12)) current_ = static_cast<uint32_t>(random_() % holds_.size());
  const Hold& known = hold();
  if (!known.exists) {
    asked_ = Mutation(Method::kCreate);
    asked_.ttl_ns = ttl_ns_;
  } else if (known.epoch == 0) {
    asked_ = Chance(35) ? Read() : Resume();
  } else if (Chance(4)) {
    asked_ = Odd();
  } else {
    asked_ = known.turn == 0 ? Idle() : InTurn();
  }
  return asked_;
}

Asked Agent::Mutation(Method method) {
  Asked asked;
  asked.method = method;
  asked.session = current_;
  asked.request.high = (random_() & ~kVersionBits) | kVersion4;
  asked.request.low = (random_() & ~kVariantBits) | kVariant;
  asked.epoch = method == Method::kCreate || method == Method::kResume ? 0 : hold().epoch;
  return asked;
}

Asked Agent::Read() {
  Asked asked;
  asked.session = current_;
  asked.method = Method::kReadHead;
  if (Chance(30)) {
    asked.method = Method::kReadMessages;
    asked.after = hold().read;
  } else if (Chance(20)) {
    asked.method = Method::kReadSlot;
  }
  return asked;
}

Asked Agent::Resume() {
  Asked asked = Mutation(Method::kResume);
  asked.ttl_ns = ttl_ns_;
  asked.force = Chance(30);
  return asked;
}

Asked Agent::Begin() {
  Asked asked = Mutation(Method::kBegin);
  if (Chance(50)) asked.expected_revision = hold().revision;
  return asked;
}

Asked Agent::Append() {
  Asked asked = Mutation(Method::kAppend);
  asked.request = Uuid();
  asked.turn = hold().turn;
  asked.first_entry = hold().entry + 1;
  asked.last_entry = hold().entry + 1 + random_() % kMostEntries;
  return asked;
}

Asked Agent::Commit() {
  Asked asked = Mutation(Method::kCommit);
  asked.turn = hold().turn;
  asked.begin_next = Chance(20);
  asked.items.resize(random_() % (kMostItems + 1));
  if (Chance(50)) asked.expected_revision = hold().revision;
  return asked;
}

Asked Agent::Idle() {
  const uint64_t choice = random_() % 100;
  if (choice < 76) return Begin();
  if (choice < 82) return Mutation(Method::kRelease);
  if (choice < 86) return Mutation(Method::kClose);
  if (choice < 93) return Read();
  Asked asked = Mutation(Method::kRenew);
  asked.request = Uuid();
  return asked;
}

Asked Agent::InTurn() {
  const uint64_t choice = random_() % 100;
  if (choice < 35) return Append();
  if (choice < 80) return Commit();
  if (choice < 85) {
    Asked asked = Mutation(Method::kAbandon);
    asked.turn = hold().turn;
    return asked;
  }
  if (choice < 90) return Read();
  if (choice < 92) return Mutation(Method::kClose);
  if (choice < 94) return Mutation(Method::kRelease);
  if (choice < 96) {
    hold().epoch = 0;  // abandons the lease without a release
    return Read();
  }
  Asked asked = Mutation(Method::kRenew);
  asked.request = Uuid();
  return asked;
}

Asked Agent::Odd() {
  odd_ = true;
  switch (random_() % 5) {
    case 0:
      return Begin();  // perhaps in a turn
    case 1: {
      Asked asked = Commit();
      asked.turn = std::max<uint64_t>(2, hold().last_turn) - 1;
      asked.expected_revision = 0;
      return asked;
    }
    case 2: {
      Asked asked = Begin();
      asked.expected_revision = std::max<uint64_t>(1, hold().revision - 1);
      return asked;
    }
    case 3: {
      Asked asked = Resume();
      if (!asked.force) asked.epoch = hold().epoch;  // a reconnect
      return asked;
    }
    default: {
      Asked asked = Mutation(Method::kCreate);
      asked.ttl_ns = ttl_ns_;
      return asked;
    }
  }
}

void Agent::Learn(const Answered& answered) {
  const bool again = answered.outcome == Outcome::kUnknown || answered.cause == Cause::kNoEffect;
  if (again) {
    repeat_ = Chance(92);
    if (!repeat_ && !echo_) hold().epoch = 0;
    return;
  }
  if (echo_) return;
  if (answered.outcome == Outcome::kRefused) return Refused(answered.cause);
  Accept(answered);
  repeat_ = Repeatable(asked_) && Chance(3);
  echo_ = repeat_;
}

void Agent::Accept(const Answered& answered) {
  Hold& known = hold();
  known.exists = true;
  known.revision = std::max(known.revision, answered.revision);
  switch (asked_.method) {
    case Method::kCreate:
    case Method::kResume: {
      const bool reconnected = asked_.epoch != 0 && answered.epoch == asked_.epoch;
      if (reconnected) return;
      known.epoch = answered.token == 0 ? 0 : answered.epoch;
      known.turn = 0;
      return;
    }
    case Method::kBegin:
    case Method::kCommit:
      known.turn = answered.turn;
      known.last_turn = std::max(known.last_turn, answered.turn);
      known.entry = 0;
      return;
    case Method::kAppend:
      known.entry = answered.entry;
      return;
    case Method::kAbandon:
      known.turn = 0;
      return;
    case Method::kRelease:
    case Method::kClose:
      known.epoch = Chance(20) ? known.epoch : 0;
      known.turn = 0;
      return;
    case Method::kReadMessages:
      known.read = answered.messages;
      return;
    default:
      return;
  }
}

void Agent::Refused(Cause cause) {
  Hold& known = hold();
  if (cause == Cause::kSessionExists) known.exists = true;
  if (cause == Cause::kLeaseHeld) current_ = static_cast<uint32_t>(random_() % holds_.size());
  if (cause == Cause::kSessionExists || cause == Cause::kLeaseHeld) return;
  const bool lost = cause == Cause::kFenced || cause == Cause::kLeaseRequired;
  if (odd_ && !lost) return;
  // Now and then it does not want to believe it.
  if (!Chance(25)) known.epoch = 0;
}

}  // namespace holdfast::history
