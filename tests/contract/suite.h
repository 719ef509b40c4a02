// The conformance suite: one case for each numbered sentence of session/store.h, named after it,
// and the carried-over tests of docs/conformance.md (A6_...). It runs over every row of stores.cc.
#ifndef HOLDFAST_TESTS_CONTRACT_SUITE_H_
#define HOLDFAST_TESTS_CONTRACT_SUITE_H_

#include "session/refusal.h"
#include "session/store.h"
#include "tests/contract/store_under_test.h"
#include "tests/support/changes.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// The refusal of a commit, by whichever way it came; OK when there was none.
absl::Status RefusalIn(const absl::StatusOr<CommitResult>& result);

// The reason's name, "OK" for none: what a failed comparison prints.
std::string ReasonIn(const absl::Status& status);
std::string ReasonIn(const absl::StatusOr<CommitResult>& result);
template <typename T>
std::string ReasonIn(const absl::StatusOr<T>& result) {
  return ReasonIn(result.status());
}

// A fact of a refusal; empty when it has none of that name.
std::string FactIn(const absl::Status& status, const std::string& name);

// The token of a grant; an empty one when there is none.
LeaseToken TokenIn(const Receipt& receipt);

inline constexpr PageLimit kWholePage{.items = 1000, .bytes = size_t{64} * 1024 * 1024};

class Contract : public ::testing::TestWithParam<StoreFactory> {
 protected:
  Contract() : under_test_(GetParam().make()), changes_(Key("alpha"), under_test_->random()) {}
  void SetUp() override { under_test().Open(); }
  void TearDown() override { under_test().Close(); }

  [[nodiscard]] StoreUnderTest& under_test() { return *under_test_; }
  [[nodiscard]] SessionStore& store() { return under_test_->store(); }
  [[nodiscard]] FakeClock& clock() { return under_test_->clock(); }
  [[nodiscard]] Random& random() { return under_test_->random(); }
  void Reopen() { under_test_->Reopen(); }

  // Commits a change that must be applied; answers its receipt.
  Receipt Apply(const Change& change);
  CommitResult ApplyWhole(const Change& change);

  // Makes changes of the session `alpha`, and the token of its last grant.
  [[nodiscard]] Changes& changes() { return changes_; }
  [[nodiscard]] const LeaseToken& token() const { return token_; }
  void TakeToken(const Receipt& receipt) { token_ = TokenIn(receipt); }

  // The session `alpha` and its lease; each of these acts on it and must succeed.
  Receipt Create();
  TurnNumber Begin();
  Receipt CommitTurn(TurnNumber turn, std::vector<Message> messages = {},
                     std::vector<Slot> slots = {});
  // A turn from begin to commit.
  Receipt RunTurn(std::vector<Message> messages = {}, std::vector<Slot> slots = {});
  Receipt Append(TurnNumber turn, std::vector<JournalEntry> entries);
  // Deletes the session; answers which one it was.
  SessionUid Delete();
  // The same of one with something of every kind, which is made first.
  SessionUid CreateAndDelete();
  // Creates a session in the place of the deleted one `former`; answers which one it is.
  SessionUid Recreate(const SessionUid& former);
  // A forced take-over: the token becomes the new holder's.
  Receipt TakeOver();
  void LetLeaseExpire() { clock().Advance(absl::Seconds(61)); }

  // What is there now; empty with a failure when it cannot be read.
  Head LoadHead() { return LoadHead(changes_.key()); }
  Head LoadHead(const SessionKey& key);
  std::optional<RequestRow> LoadRequest(const RequestId& id);
  std::vector<Message> Messages(std::optional<Revision> revision = std::nullopt);
  std::vector<std::string> MessageTexts(std::optional<Revision> revision = std::nullopt);
  std::vector<SlotView> Slots(const SlotQuery& query = {});
  // A change of items alone, which must be applied.
  Receipt PutItems(std::vector<ItemPut> puts, std::vector<ItemDelete> deletes = {});
  // The refusal of one.
  absl::Status RefusedItems(ItemWrites writes);
  // The whole page that a query asks for; of the collection `notes` unless it names one.
  ItemPage Items(ItemQuery query = {}, PageLimit limit = kWholePage);
  // "key=data" of each item of the collection `notes`.
  std::vector<std::string> ItemTexts();
  // The bytes of one slot; nullopt when it is absent.
  std::optional<std::string> SlotData(const std::string& owner,
                                      std::optional<Revision> revision = std::nullopt);
  std::vector<JournalEntry> Journal(std::optional<TurnNumber> turn = std::nullopt);
  std::vector<Event> Events();
  std::vector<std::string> EventNames();
  std::vector<AuditRecord> Audit();
  std::vector<SessionRow> Rows(ListQuery query);
  std::vector<std::string> Ids(const ListQuery& query);
  std::vector<std::string> Ids() { return Ids({.tenant = changes_.key().tenant}); }
  // Everything that can be seen of the session, as text, without what depends on the clock.
  std::string Picture();

  [[nodiscard]] const SessionKey& key() const { return changes_.key(); }

 private:
  std::unique_ptr<StoreUnderTest> under_test_;
  Changes changes_;
  LeaseToken token_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CONTRACT_SUITE_H_
