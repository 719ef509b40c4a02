// A workload over one store that records each acknowledged change: sessions through every kind of
// change, with rotations, some of them in groups, most of them deleted in the end. After any fault
// the store must have all that it acknowledged; a change without an answer is stored whole or not
// at all.
#ifndef HOLDFAST_TESTS_FAULTS_WORKLOAD_H_
#define HOLDFAST_TESTS_FAULTS_WORKLOAD_H_

#include "session/store.h"
#include "tests/support/changes.h"

#include "absl/status/status.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// The collection that the workload writes to.
inline constexpr char kWorkItems[] = "notes";

// What a reader finds of a session.
struct Found {
  bool exists = false;
  bool deleted = false;
  std::vector<std::string> messages;
  std::map<std::string, std::string> slots;  // without the store's own
  std::map<std::string, std::string> items;  // of kWorkItems, by key
  uint64_t entries = 0;                      // ever accepted
  bool operator==(const Found&) const = default;
};

// In words, for a failed comparison.
std::string Words(const Found& found);

class Workload {
 public:
  // Of `rounds` turns in each session that is not deleted at once.
  explicit Workload(Random& random, int rounds = 6) : random_(random), rounds_(rounds) {}

  // Runs until the end or the first change that is not acknowledged; answers that one's status.
  absl::Status Run(SessionStore& store);

  // Empty when what `find` answers is what was acknowledged, and of the change in flight all or
  // nothing; else what is wrong, in words.
  using Finder = std::function<absl::StatusOr<Found>(const SessionKey& key)>;
  [[nodiscard]] std::string Check(const Finder& find) const;
  [[nodiscard]] std::string Check(SessionStore& store) const;

  // That the service is normal again: every session that is left takes a turn.
  [[nodiscard]] std::string GoOn(SessionStore& store) const;

  [[nodiscard]] bool finished() const { return finished_; }
  // Whether the change in flight has an audit record.
  [[nodiscard]] bool audited() const { return audited_; }
  // How many changes were acknowledged so far.
  [[nodiscard]] size_t acknowledged() const { return acknowledged_; }

 private:
  struct Session {
    std::string name;
    SessionUid uid;
    std::optional<SessionUid> former;  // that was deleted under its name
    LeaseToken token;
    TurnNumber turn;
    Found acknowledged;
    std::optional<Found> in_flight;
  };

  absl::Status LiveTogether(SessionStore& store);
  absl::Status CommitOfEach(SessionStore& store, int round);
  absl::Status Live(SessionStore& store, Session& session, int rounds);
  absl::Status DeleteSession(SessionStore& store, Session& session);
  absl::Status Turn(SessionStore& store, Session& session, int round);
  static void WriteItems(int round, Change& change, Found& after);
  absl::Status Stage(SessionStore& store, Change& change);
  absl::Status Do(SessionStore& store, Session& session, const Change& change, const Found& after);

  Random& random_;
  const int rounds_;
  std::vector<Session> sessions_;
  bool finished_ = false;
  bool audited_ = false;
  size_t acknowledged_ = 0;
};

// Opens `store` and disposes of it: what is wrong with what it holds of the workload, or with how
// it goes on. Empty: nothing.
std::string CheckOpened(SessionStore& store, const Workload& workload);

// What `store` holds of the session.
absl::StatusOr<Found> Find(SessionStore& store, const SessionKey& key);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_FAULTS_WORKLOAD_H_
