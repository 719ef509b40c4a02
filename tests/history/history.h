// The requests of clients and their answers: the record that the checker reads.
//
// Numbers say which client and which session; order is by one machine's monotonic clock. An
// operation is one sending of one request: a repeat is an operation of its own with the same
// request id.
#ifndef HOLDFAST_TESTS_HISTORY_HISTORY_H_
#define HOLDFAST_TESTS_HISTORY_HISTORY_H_

#include "platform/digest.h"
#include "session/lifecycle.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::history {

enum class Method : uint8_t {
  kCreate,
  kResume,
  kBegin,
  kAppend,
  kCommit,
  kAbandon,
  kRelease,
  kClose,
  kRenew,
  kReadHead,
  kReadMessages,
  kReadSlot,
};
std::string_view Name(Method method);
// Whether it may change its session.
bool Mutates(Method method);

// A request id, or the mark that a commit leaves in the slot it writes. Zero: none.
struct Uuid {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const Uuid&, const Uuid&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Uuid& id) {
    return H::combine(std::move(state), id.high, id.low);
  }
};
std::string ToText(const Uuid& id);
// Zero when `text` is not a UUID.
Uuid UuidFrom(std::string_view text);

enum class Outcome : uint8_t {
  kUnknown,  // no answer, or one that leaves it open
  kOk,
  kRefused,
};

// Why a call was refused.
enum class Cause : uint8_t {
  kNone,
  kFenced,
  kLeaseRequired,
  kLeaseHeld,
  kConcurrentTurn,
  kIllegalTransition,
  kStaleTurn,
  kStaleRevision,
  kSessionExists,
  kSessionNotFound,
  kNoEffect,  // it could not be done just then, and certainly was not: OVERLOADED and the like
  kOther,     // nothing that this traffic can bring about
};
std::string_view Name(Cause cause);

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// What was sent. The numbers that a method does not have are 0.
struct Asked {
  Method method = Method::kReadHead;
  bool force = false;       // resume: from a live holder too
  bool begin_next = false;  // commit
  uint32_t session = 0;
  Uuid request;                    // of mutations but Append and Renew
  uint64_t epoch = 0;              // of the token that was sent
  uint64_t turn = 0;               // append, commit, abandon
  uint64_t first_entry = 0;        // append: numbers of the first and the last entry
  uint64_t last_entry = 0;         // append
  uint64_t expected_revision = 0;  // begin, commit
  uint64_t after = 0;              // read messages: behind this one
  int64_t ttl_ns = 0;              // create, resume
  std::vector<Digest> items;       // commit: SHA-256 of each message's bytes
};

// What came back. The numbers that a reply does not have are 0.
struct Answered {
  Outcome outcome = Outcome::kUnknown;
  Cause cause = Cause::kNone;
  bool repeated = false;
  bool held = false;                       // read head: the lease is not free
  bool complete = false;                   // read messages: it reached the newest
  Lifecycle lifecycle = Lifecycle::kIdle;  // read head
  uint64_t revision = 0;
  uint64_t epoch = 0;           // grants: that of the token in the reply; read head: the session's
  uint64_t token = 0;           // grants: a number of the token's text; 0 without one
  uint64_t turn = 0;            // begun, by Begin or by a commit's begin_next; read head: active
  uint64_t last_turn = 0;       // read head
  uint64_t messages = 0;        // commit, read head; read messages: the last one read
  uint64_t entry = 0;           // append, commit: the turn's last; resume: those it dropped
  uint64_t before = 0;          // resume: the revision it found
  uint64_t abandoned_turn = 0;  // resume, close
  Digest digest{};              // read head; read messages: of all up to the last one read
  Uuid slot;                    // read slot
};

struct Operation {
  uint32_t client = 0;
  uint64_t number = 0;  // unique and rising within its client
  uint32_t server = 0;  // that it was sent to, by its place in the list
  int64_t invoked = 0;  // nanoseconds, before it was sent
  int64_t returned = kNever;
  Asked asked;
  Answered answered;
};

// One line of the audit chain, as it is read at the end: the order that the store gave. It is kept
// for ever and is written with each act, so it settles what became of an unanswered call.
struct LogLine {
  uint64_t seq = 0;
  uint64_t revision = 0;
  uint64_t epoch = 0;
  std::string code;  // of the audit record
  Uuid request;      // zero: the server's own act
};

// What a fresh client reads of one session when the traffic has ended.
struct Ending {
  uint32_t session = 0;
  Answered head;  // as kReadHead
  uint64_t messages = 0;
  Digest digest{};  // of the messages as they were read, one by one
  Uuid slot;
  std::vector<LogLine> log;
};

struct History {
  std::vector<Operation> operations;
  std::vector<Ending> endings;
};

// Of every message and of the slot that the traffic writes.
inline constexpr char kRole[] = "user";
inline constexpr char kContentType[] = "text/plain";
inline constexpr char kSlotOwner[] = "traffic";

// The digest of a history when a message whose bytes have the digest `item` is added.
Digest Extend(const Digest& before, const Digest& item);

// "client 3, Commit 17 of session 5 (request ...)".
std::string Describe(const Operation& operation);

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_HISTORY_H_
