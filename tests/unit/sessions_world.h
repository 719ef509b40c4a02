// The domain over the reference store, with a clock and faults that a test holds in its hand, and
// one session, `alpha`, whose commands are ready to be changed and sent.
#ifndef HOLDFAST_TESTS_UNIT_SESSIONS_WORLD_H_
#define HOLDFAST_TESTS_UNIT_SESSIONS_WORLD_H_

#include "session/sessions.h"
#include "tests/support/fake_clock.h"
#include "tests/support/faulty_store.h"
#include "tests/support/reference_disk.h"
#include "tests/support/seeded_random.h"
#include "tests/support/server_view.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// The reason's name; "OK" for none.
std::string ReasonIn(const absl::Status& status);
template <typename T>
std::string ReasonIn(const absl::StatusOr<T>& result) {
  return ReasonIn(result.status());
}
// A fact of a refusal; empty when it has none of that name.
std::string FactIn(const absl::Status& status, const std::string& name);

Message Said(const std::string& data);
Slot SlotOf(const std::string& owner, const std::string& data,
            const std::string& version = "1.0.0");

class World {
 public:
  World();

  [[nodiscard]] FakeClock& clock() { return clock_; }
  [[nodiscard]] SeededRandom& random() { return random_; }
  [[nodiscard]] ReferenceDisk& disk() { return *disk_; }
  [[nodiscard]] FaultyStore& store() { return *store_; }
  [[nodiscard]] Sessions& sessions() { return *sessions_; }
  // Another server over the same store, which remembers heads of its own.
  [[nodiscard]] Sessions& other() { return *other_; }
  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] const SessionId& id() const { return id_; }
  [[nodiscard]] SessionKey key() const { return {caller_.tenant, id_}; }
  [[nodiscard]] const LeaseToken& token() const { return token_; }
  void LetLeaseExpire() { clock_.Advance(absl::Seconds(61)); }

  // Commands with a new request id and the current token.
  RequestId NewRequest();
  CreateCommand ToCreate();
  UpdateCommand ToUpdate(const std::string& title);
  ResumeCommand ToResume();
  ResumeCommand ToForce();
  BeginTurnCommand ToBegin();
  CommitTurnCommand ToCommit(TurnNumber turn);
  AbandonTurnCommand ToAbandon(TurnNumber turn);
  AppendJournalCommand ToAppend(TurnNumber turn, uint64_t first, uint64_t last);
  CloseCommand ToClose();
  // A cancel request without a lease token.
  CancelCommand ToCancel(CancelScope scope, TurnNumber turn = TurnNumber());
  DeleteCommand ToDelete();
  ReleaseCommand ToRelease();

  // Acts that must succeed; a grant's token becomes the current one.
  MutationResult Create();
  ResumeResult TakeOver();
  TurnNumber Begin();
  MutationResult Commit(TurnNumber turn, std::vector<Message> messages = {});
  MutationResult RunTurn(std::vector<Message> messages = {}) {
    return Commit(Begin(), std::move(messages));
  }
  MutationResult Append(TurnNumber turn, std::vector<JournalEntry> entries);

  // What is stored.
  Head Stored();
  std::vector<std::string> Texts();
  std::vector<std::string> EventNames();
  std::vector<std::string> AuditCodes();

 private:
  FakeClock clock_;
  SeededRandom random_;
  std::shared_ptr<ReferenceDisk> disk_;
  std::shared_ptr<FaultyStore> store_;
  ServerView view_;
  ServerView other_view_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<Sessions> other_;
  Caller caller_;
  SessionId id_;
  LeaseToken token_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_UNIT_SESSIONS_WORLD_H_
