#include "tests/history/mutants.h"

#include "absl/functional/function_ref.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::history {
namespace {

using Engine = std::mt19937_64;
using Wanted = absl::FunctionRef<bool(const Operation&)>;

// One of the operations that are wanted; null when there is none.
Operation* Pick(History& history, Engine& random, Wanted wanted) {
  std::vector<Operation*> found;
  for (Operation& operation : history.operations) {
    if (wanted(operation)) found.push_back(&operation);
  }
  return found.empty() ? nullptr : found[random() % found.size()];
}

bool Ok(const Operation& operation) { return operation.answered.outcome == Outcome::kOk; }

bool OkFirst(const Operation& operation, Method method) {
  return Ok(operation) && operation.asked.method == method && !operation.answered.repeated;
}

Ending& EndingOf(History& history, uint32_t session) {
  return *std::find_if(history.endings.begin(), history.endings.end(),
                       [&](const Ending& ending) { return ending.session == session; });
}

// The log's line of a request, or null.
LogLine* LineOf(History& history, const Operation& operation) {
  for (LogLine& line : EndingOf(history, operation.asked.session).log) {
    if (line.request == operation.asked.request) return &line;
  }
  return nullptr;
}

// When the request of `operation` was sent for the first time.
int64_t FirstSent(const History& history, const Operation& operation) {
  int64_t sent = operation.invoked;
  for (const Operation& other : history.operations) {
    if (other.asked.request == operation.asked.request) sent = std::min(sent, other.invoked);
  }
  return sent;
}

// What was read at the end goes back to before the commit `operation`, as if it and all that came
// behind had never been.
bool LoseTheEnd(History& history, Engine& random) {
  Operation* const lost = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kCommit);
  });
  if (lost == nullptr) return false;
  std::vector<LogLine>& log = EndingOf(history, lost->asked.session).log;
  log.erase(log.begin() + (LineOf(history, *lost) - log.data()), log.end());
  return true;
}

// One commit is not there, and everything behind it has moved up.
bool LoseAWrite(History& history, Engine& random) {
  Operation* const lost = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kCommit) && !operation.asked.begin_next;
  });
  if (lost == nullptr) return false;
  Ending& ending = EndingOf(history, lost->asked.session);
  const uint64_t revision = lost->answered.revision;
  ending.log.erase(ending.log.begin() + (LineOf(history, *lost) - ending.log.data()));
  for (Operation& operation : history.operations) {
    const bool behind = operation.asked.session == ending.session && Ok(operation) &&
                        operation.answered.revision > revision;
    if (!behind) continue;
    --operation.answered.revision;
    if (operation.answered.before > revision) --operation.answered.before;
  }
  for (size_t i = 0; i < ending.log.size(); ++i) {
    ending.log[i].seq = i + 1;
    if (ending.log[i].revision > revision) --ending.log[i].revision;
  }
  --ending.head.revision;
  return true;
}

// A commit acts once more, at the end.
bool DoubleAWrite(History& history, Engine& random) {
  Operation* const twice = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kCommit) && !operation.asked.items.empty();
  });
  if (twice == nullptr) return false;
  Ending& ending = EndingOf(history, twice->asked.session);
  LogLine line = ending.log.back();
  ++line.seq;
  ++line.revision;
  line.request = twice->asked.request;
  line.code = "TurnEnded";
  ending.log.push_back(line);
  ++ending.head.revision;
  for (const Digest& item : twice->asked.items) {
    ++ending.messages;
    ending.digest = Extend(ending.digest, item);
  }
  ending.head.messages = ending.messages;
  ending.head.digest = ending.digest;
  return true;
}

// A repeat does not say that it is one, as if it had acted.
bool ActAgain(History& history, Engine& random) {
  Operation* const repeat = Pick(history, random, [&](const Operation& operation) {
    if (!Ok(operation) || !operation.answered.repeated) return false;
    return std::any_of(history.operations.begin(), history.operations.end(),
                       [&](const Operation& other) {
                         return other.asked.request == operation.asked.request && Ok(other) &&
                                !other.answered.repeated;
                       });
  });
  if (repeat == nullptr) return false;
  repeat->answered.repeated = false;
  return true;
}

bool SwapRevisions(History& history, Engine& random) {
  const auto writes = [](const Operation& operation) {
    return OkFirst(operation, Method::kCommit) || OkFirst(operation, Method::kBegin);
  };
  Operation* const one = Pick(history, random, writes);
  if (one == nullptr) return false;
  Operation* const other = Pick(history, random, [&](const Operation& operation) {
    return writes(operation) && operation.asked.session == one->asked.session &&
           operation.answered.revision != one->answered.revision;
  });
  if (other == nullptr) return false;
  std::swap(one->answered.revision, other->answered.revision);
  return true;
}

// The same in the log: two lines change their places. What clients saw before contradicts it.
bool SwapLines(History& history, Engine& random) {
  Ending& ending = history.endings[random() % history.endings.size()];
  if (ending.log.size() < 4) return false;
  const size_t at = 1 + random() % (ending.log.size() - 2);
  LogLine& one = ending.log[at];
  LogLine& other = ending.log[at + 1];
  std::swap(one.request, other.request);
  std::swap(one.code, other.code);
  return true;
}

// A read of the whole state that an earlier read of the session had shown.
bool ReadStale(History& history, Engine& random) {
  const auto reads = [](const Operation& operation) {
    return OkFirst(operation, Method::kReadHead);
  };
  Operation* const early = Pick(history, random, reads);
  if (early == nullptr) return false;
  Operation* const late = Pick(history, random, [&](const Operation& operation) {
    return reads(operation) && operation.asked.session == early->asked.session &&
           operation.answered.revision > early->answered.revision + 1 &&
           operation.invoked > early->returned;
  });
  if (late == nullptr) return false;
  // The checker detects this only if the write that `late` had seen returned before it began.
  const bool known = std::any_of(
      history.operations.begin(), history.operations.end(), [&](const Operation& operation) {
        return &operation != late && Ok(operation) && !operation.answered.repeated &&
               operation.asked.session == late->asked.session &&
               operation.answered.revision > early->answered.revision &&
               operation.returned < late->invoked;
      });
  if (!known) return false;
  late->answered = early->answered;
  return true;
}

// A read of a state that was written only after the read had returned.
bool ReadEarly(History& history, Engine& random) {
  const auto reads = [](const Operation& operation) {
    return OkFirst(operation, Method::kReadHead);
  };
  // A lease that was given back since, which moves no revision, makes it a state of its own.
  Operation* const late = Pick(history, random, [&](const Operation& operation) {
    return reads(operation) && operation.answered.held;
  });
  if (late == nullptr) return false;
  // The first line of a revision wrote its state; the others of it released leases.
  const std::vector<LogLine>& log = EndingOf(history, late->asked.session).log;
  const auto line = std::ranges::find(log, late->answered.revision, &LogLine::revision);
  if (line == log.end() || line->request == Uuid()) return false;
  const auto write = std::ranges::find_if(history.operations, [&](const Operation& operation) {
    return operation.asked.request == line->request;
  });
  if (write == history.operations.end()) return false;
  const int64_t sent = FirstSent(history, *write);
  Operation* const early = Pick(history, random, [&](const Operation& operation) {
    return reads(operation) && operation.asked.session == late->asked.session &&
           operation.returned < sent;
  });
  if (early == nullptr) return false;
  early->answered = late->answered;
  return true;
}

bool ReadUnwritten(History& history, Engine& random) {
  Operation* const read = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kReadSlot) && operation.answered.slot != Uuid();
  });
  if (read == nullptr) return false;
  read->answered.slot.low ^= 1U << random() % 32U;
  return true;
}

bool GrantTwice(History& history, Engine& random) {
  Operation* const grant = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kResume) && operation.asked.epoch == 0 &&
           operation.answered.epoch > 1;
  });
  if (grant == nullptr) return false;
  --grant->answered.epoch;
  return true;
}

// Whether a later grant had come back when `operation` was sent.
bool Overtaken(const History& history, const Operation& operation) {
  return std::any_of(
      history.operations.begin(), history.operations.end(), [&](const Operation& grant) {
        return OkFirst(grant, Method::kResume) && grant.asked.session == operation.asked.session &&
               grant.answered.epoch > operation.asked.epoch && grant.returned < operation.invoked;
      });
}

// A call with an overtaken token is answered as if it were the holder's.
bool AcceptOldEpoch(History& history, Engine& random) {
  Operation* const fenced = Pick(history, random, [&](const Operation& operation) {
    const Method method = operation.asked.method;
    return operation.answered.cause == Cause::kFenced &&
           (method == Method::kAppend || method == Method::kRenew) && Overtaken(history, operation);
  });
  if (fenced == nullptr) return false;
  // It says the revision of the newest reply that had come back.
  uint64_t revision = 0;
  for (const Operation& operation : history.operations) {
    const bool known = operation.asked.session == fenced->asked.session && Ok(operation) &&
                       operation.returned < fenced->returned;
    if (known) revision = std::max(revision, operation.answered.revision);
  }
  fenced->answered = {.outcome = Outcome::kOk, .revision = revision};
  fenced->answered.entry = fenced->asked.last_entry;
  return true;
}

// `operation` is answered as if it had acted behind `line`, and everything that came later moves
// down.
void Insert(History& history, Operation& operation, const LogLine& line, const char* code) {
  Ending& ending = EndingOf(history, operation.asked.session);
  const LogLine written{.seq = line.seq + 1,
                        .revision = line.revision + 1,
                        .epoch = line.epoch,
                        .code = code,
                        .request = operation.asked.request};
  for (Operation& other : history.operations) {
    const bool behind = other.asked.session == ending.session && Ok(other) &&
                        other.answered.revision > line.revision;
    if (behind) ++other.answered.revision;
  }
  const auto at = ending.log.begin() + static_cast<std::ptrdiff_t>(line.seq);
  for (auto behind = at; behind != ending.log.end(); ++behind) {
    ++behind->seq;
    ++behind->revision;
  }
  ending.log.insert(at, written);
  ++ending.head.revision;
  operation.answered = {.outcome = Outcome::kOk, .revision = written.revision};
}

// A write with an overtaken token acts.
bool WriteUnderOldEpoch(History& history, Engine& random) {
  Operation* const fenced = Pick(history, random, [&](const Operation& operation) {
    return operation.answered.cause == Cause::kFenced && operation.asked.method == Method::kCommit;
  });
  if (fenced == nullptr) return false;
  for (const LogLine& line : EndingOf(history, fenced->asked.session).log) {
    if (line.epoch <= fenced->asked.epoch) continue;
    Insert(history, *fenced, line, "TurnEnded");
    return true;
  }
  return false;
}

bool RepeatDiffers(History& history, Engine& random) {
  Operation* const repeat = Pick(history, random, [](const Operation& operation) {
    return Ok(operation) && operation.answered.repeated;
  });
  if (repeat == nullptr) return false;
  const bool again = std::any_of(
      history.operations.begin(), history.operations.end(), [&](const Operation& other) {
        return &other != repeat && Ok(other) && other.asked.request == repeat->asked.request;
      });
  if (!again) return false;
  ++(random() % 2 == 0 ? repeat->answered.revision : repeat->answered.turn);
  return true;
}

bool MissAtTheEnd(History& history, Engine& random) {
  Ending& ending = history.endings[random() % history.endings.size()];
  if (ending.messages == 0) return false;
  --ending.messages;
  return true;
}

bool ChangeAtTheEnd(History& history, Engine& random) {
  Ending& ending = history.endings[random() % history.endings.size()];
  ending.digest[random() % ending.digest.size()] ^= 1U;
  return true;
}

// Whether a resume that was sent before `operation` came back may have acted while it was under
// way, for all that the checker knows: one that had no effect may have been sent again, and acted
// then.
bool MayHaveActed(const History& history, const Operation& resume, const Operation& operation) {
  if (Ok(resume)) return resume.returned > operation.invoked;
  if (resume.answered.outcome != Outcome::kRefused) return true;
  return resume.answered.cause == Cause::kNoEffect &&
         std::any_of(history.operations.begin(), history.operations.end(),
                     [&](const Operation& again) {
                       return again.asked.request == resume.asked.request &&
                              again.answered.outcome != Outcome::kRefused &&
                              again.returned > operation.invoked;
                     });
}

// Whether another client may have taken the session over while `operation` was under way.
bool Challenged(const History& history, const Operation& operation) {
  return std::any_of(
      history.operations.begin(), history.operations.end(), [&](const Operation& resume) {
        return resume.asked.method == Method::kResume &&
               resume.asked.session == operation.asked.session &&
               resume.invoked < operation.returned && MayHaveActed(history, resume, operation);
      });
}

// The holder is refused as fenced, without a later grant.
bool RefuseWithoutCause(History& history, Engine& random) {
  Operation* const refused = Pick(history, random, [&](const Operation& operation) {
    return OkFirst(operation, Method::kRenew) && !Challenged(history, operation);
  });
  if (refused == nullptr) return false;
  refused->answered = {.outcome = Outcome::kRefused, .cause = Cause::kFenced};
  return true;
}

bool RefuseForAnotherCause(History& history, Engine& random) {
  Operation* const refused = Pick(history, random, [](const Operation& operation) {
    return operation.answered.cause == Cause::kLeaseHeld ||
           operation.answered.cause == Cause::kFenced;
  });
  if (refused == nullptr) return false;
  refused->answered.cause = random() % 2 == 0 ? Cause::kConcurrentTurn : Cause::kOther;
  return true;
}

// It is refused, and acts all the same.
bool RefuseAndAct(History& history, Engine& random) {
  Operation* const refused = Pick(history, random, [&](const Operation& operation) {
    if (!OkFirst(operation, Method::kBegin)) return false;
    return std::count_if(history.operations.begin(), history.operations.end(),
                         [&](const Operation& other) {
                           return other.asked.request == operation.asked.request;
                         }) == 1;
  });
  if (refused == nullptr) return false;
  refused->answered = {.outcome = Outcome::kRefused, .cause = Cause::kNoEffect};
  return true;
}

bool ChangeDigest(History& history, Engine& random) {
  Operation* const read = Pick(history, random, [](const Operation& operation) {
    return (OkFirst(operation, Method::kReadHead) || OkFirst(operation, Method::kReadMessages));
  });
  if (read == nullptr) return false;
  read->answered.digest[random() % kDigestBytes] ^= 1U;
  return true;
}

bool ChangeCount(History& history, Engine& random) {
  Operation* const answered = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kCommit) || OkFirst(operation, Method::kReadHead);
  });
  if (answered == nullptr) return false;
  ++answered->answered.messages;
  return true;
}

bool ChangeTurn(History& history, Engine& random) {
  Operation* const answered = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kBegin) || OkFirst(operation, Method::kReadHead);
  });
  if (answered == nullptr) return false;
  ++answered->answered.turn;
  return true;
}

bool LoseAnEntry(History& history, Engine& random) {
  Operation* const commit = Pick(history, random, [&](const Operation& operation) {
    if (!OkFirst(operation, Method::kCommit) || operation.answered.entry == 0) return false;
    return std::any_of(history.operations.begin(), history.operations.end(),
                       [&](const Operation& append) {
                         return OkFirst(append, Method::kAppend) &&
                                append.asked.session == operation.asked.session &&
                                append.asked.turn == operation.asked.turn &&
                                append.asked.last_entry == operation.answered.entry;
                       });
  });
  if (commit == nullptr) return false;
  --commit->answered.entry;
  return true;
}

bool MisreportResume(History& history, Engine& random) {
  Operation* const resume = Pick(history, random, [](const Operation& operation) {
    return OkFirst(operation, Method::kResume) && operation.asked.epoch == 0;
  });
  if (resume == nullptr) return false;
  ++(random() % 2 == 0 ? resume->answered.before : resume->answered.abandoned_turn);
  return true;
}

// The log has a line of a request that no client sent.
bool AddUnrequested(History& history, Engine& random) {
  Ending& ending = history.endings[random() % history.endings.size()];
  if (ending.log.empty()) return false;
  LogLine line = ending.log.back();
  ++line.seq;
  ++line.revision;
  line.request = {.high = random() | 1U, .low = random()};
  line.code = "TurnStarted";
  ending.log.push_back(line);
  ++ending.head.revision;
  return true;
}

// Two writes, one of which had returned when the other was sent, change their places, and their
// replies with them.
bool SwapWrites(History& history, Engine& random) {
  const auto is_write = [](const Operation& operation) {
    return OkFirst(operation, Method::kCommit) || OkFirst(operation, Method::kBegin);
  };
  Operation* const one = Pick(history, random, is_write);
  if (one == nullptr) return false;
  LogLine* const line = LineOf(history, *one);
  Operation* const other = Pick(history, random, [&](const Operation& operation) {
    return is_write(operation) && operation.asked.session == one->asked.session &&
           operation.answered.revision == one->answered.revision + 1 &&
           FirstSent(history, operation) > one->returned;
  });
  if (other == nullptr) return false;
  LogLine* const next = LineOf(history, *other);
  std::swap(line->request, next->request);
  std::swap(line->code, next->code);
  std::swap(one->answered.revision, other->answered.revision);
  return true;
}

// A turn begins while one is active, and everything behind it moves down.
bool BeginInATurn(History& history, Engine& random) {
  Operation* const refused = Pick(history, random, [](const Operation& operation) {
    return operation.answered.cause == Cause::kConcurrentTurn;
  });
  if (refused == nullptr) return false;
  const Operation* begun = nullptr;
  for (const Operation& operation : history.operations) {
    const bool before = operation.asked.session == refused->asked.session &&
                        operation.asked.epoch == refused->asked.epoch &&
                        OkFirst(operation, Method::kBegin) && operation.returned < refused->invoked;
    if (before) begun = &operation;
  }
  if (begun == nullptr) return false;
  Insert(history, *refused, *LineOf(history, *begun), "TurnStarted");
  return true;
}

}  // namespace

const std::vector<Mutation>& AllMutations() {
  static const std::vector<Mutation> kAll = {
      {"the end is lost", Rule::kLost, LoseTheEnd},
      {"a write is lost", Rule::kLost, LoseAWrite},
      {"a write is there twice", Rule::kActedTwice, DoubleAWrite},
      {"a repeat acts again", Rule::kActedTwice, ActAgain},
      {"two revisions are swapped", Rule::kRevision, SwapRevisions},
      {"two lines of the log are swapped", Rule::kRevision, SwapLines},
      {"a read is stale", Rule::kStale, ReadStale},
      {"a read is early", Rule::kEarly, ReadEarly},
      {"a read shows what was not written", Rule::kUnwritten, ReadUnwritten},
      {"an epoch is granted twice", Rule::kGrant, GrantTwice},
      {"an old token is accepted", Rule::kOldEpoch, AcceptOldEpoch},
      {"an old token writes", Rule::kOldEpoch, WriteUnderOldEpoch},
      {"a repeat is answered otherwise", Rule::kRepeat, RepeatDiffers},
      {"a message is missing at the end", Rule::kEnding, MissAtTheEnd},
      {"a message is another at the end", Rule::kEnding, ChangeAtTheEnd},
      {"the holder is refused", Rule::kRefusal, RefuseWithoutCause},
      {"a refusal names another cause", Rule::kRefusal, RefuseForAnotherCause},
      {"what is refused acts", Rule::kRefusedActed, RefuseAndAct},
      {"a digest differs", Rule::kDigest, ChangeDigest},
      {"a count differs", Rule::kCount, ChangeCount},
      {"a turn's number differs", Rule::kTurn, ChangeTurn},
      {"a journal entry is lost", Rule::kEntries, LoseAnEntry},
      {"a resume reports what it did not find", Rule::kReport, MisreportResume},
      {"a change was not requested", Rule::kUnrequested, AddUnrequested},
      {"two writes are swapped", Rule::kOrder, SwapWrites},
      {"a turn begins in a turn", Rule::kIllegal, BeginInATurn},
  };
  return kAll;
}

}  // namespace holdfast::history
