// Every statement of a conversation fails in turn: once without being carried out, once carried out
// with its answer lost, and once each with an exception instead. The same request again acts once,
// and nothing is left half done.
#include "platform/exceptions.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/grouped_commit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gmock/gmock.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

namespace holdfast::test {
namespace {

using ::testing::AnyOf;

constexpr PageLimit kAllRecords{.items = 1000, .bytes = 1 << 20};

enum class Loss : uint8_t { kNeverCarriedOut, kAnswerLost, kThrowsBefore, kThrowsBehind };

// How a change is committed.
enum class Way : uint8_t { kByItself, kInAGroup };
using Faulted = std::tuple<Loss, Way>;

const char* LossName(Loss loss) {
  switch (loss) {
    case Loss::kNeverCarriedOut:
      return "ItIsNeverCarriedOut";
    case Loss::kAnswerLost:
      return "ItsAnswerIsLost";
    case Loss::kThrowsBefore:
      return "ItThrowsBefore";
    case Loss::kThrowsBehind:
      return "ItThrowsBehind";
  }
  return "";
}

std::string NameOfFaulted(const ::testing::TestParamInfo<Faulted>& made) {
  const auto [loss, way] = made.param;
  return absl::StrCat(LossName(loss), way == Way::kInAGroup ? "InAGroup" : "");
}

// What `act` answers; an exception is STORE_UNAVAILABLE, for what became of it is not known.
template <typename Act>
auto Caught(Act act) -> decltype(act()) {
  std::optional<decltype(act())> answer;
  if (CatchException([&] { answer = act(); })) {
    return StoreUnavailable("it threw", Fate::kUnknown).ToStatus();
  }
  return *std::move(answer);
}

// Fails the n-th statement of this thread, or none.
class Fault {
 public:
  Fault(size_t at, Loss loss) : at_(at), loss_(loss) {}

  std::shared_ptr<const pg::Tap> tap() {
    pg::Tap tap;
    tap.before = [this](std::string_view) { return Before(); };
    tap.after = [this](std::string_view) { return After(); };
    return std::make_shared<const pg::Tap>(std::move(tap));
  }
  // Statements count from now on, or no more.
  void Arm() { armed_ = true; }
  void Disarm() { armed_ = false; }
  [[nodiscard]] bool hit() const { return hit_; }

 private:
  // What the store asks beside its calls, it asks by threads of its own.
  [[nodiscard]] bool Counts() const { return std::this_thread::get_id() == thread_ && armed_; }

  std::optional<pg::Failure> Before() {
    if (!Counts() || ++seen_ != at_) return std::nullopt;
    hit_ = true;
    if (loss_ == Loss::kThrowsBefore) throw std::bad_alloc();
    if (loss_ != Loss::kNeverCarriedOut) {
      losing_ = true;
      return std::nullopt;
    }
    return pg::Failure{.effect = pg::Effect::kNone, .sqlstate = "", .text = "injected"};
  }
  std::optional<pg::Failure> After() {
    if (!Counts() || !std::exchange(losing_, false)) return std::nullopt;
    if (loss_ == Loss::kThrowsBehind) throw std::bad_alloc();
    return pg::Failure{.effect = pg::Effect::kUnknown, .sqlstate = "", .text = "injected"};
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  const size_t at_;
  const Loss loss_;
  bool armed_ = false;
  size_t seen_ = 0;
  bool losing_ = false;
  bool hit_ = false;
};

class PgStatementFaults : public PostgresStoreTest, public ::testing::WithParamInterface<Faulted> {
 protected:
  static absl::StatusOr<CommitResult> Commit(SessionStore& store, const Change& change) {
    if (std::get<Way>(GetParam()) == Way::kByItself) return store.Commit(change);
    return CommitInGroup(store, change);
  }
  // Sends the change again, as a client does, until it is answered. One fault costs one call.
  static Receipt Send(SessionStore& store, const Change& change) {
    auto result = Caught([&] { return Commit(store, change); });
    if (!result.ok()) {
      EXPECT_EQ(ReasonOf(result), "STORE_UNAVAILABLE");
      result = store.Commit(change);
    }
    EXPECT_EQ(ReasonOf(result), "OK");
    return result.ok() ? result->receipt : Receipt();
  }
  static LeaseToken TokenOf(const Receipt& receipt) {
    return LeaseToken::Parse(receipt.token).value_or(LeaseToken());
  }
  static std::string TextsIn(SessionStore& store, const SessionKey& key) {
    auto page =
        Caught([&] { return store.ReadMessages(key, std::nullopt, MessageSeq(), kAllRecords); });
    if (!page.ok()) page = store.ReadMessages(key, std::nullopt, MessageSeq(), kAllRecords);
    EXPECT_TRUE(page.ok());
    if (!page.ok()) return "";
    return absl::StrJoin(page->messages, ",", [](std::string* out, const Message& message) {
      absl::StrAppend(out, message.data.str());
    });
  }

  // Every kind of change, up to the close.
  static void Converse(SessionStore& store, Changes& changes) {
    LeaseToken token = TokenOf(Send(store, changes.Create()));
    const TurnNumber turn = Send(store, changes.Begin(token)).turn;
    Send(store, changes.Append(token, turn, {Note(turn, 1, "a"), Note(turn, 2, "b")}));
    Send(store, changes.Append(token, turn, {Note(turn, 2, "b"), Note(turn, 3, "c")}));
    Change commit = changes.CommitTurn(token, turn);
    commit.messages = {Text("one"), Text("two")};
    commit.slots = {MakeSlot("memory", "kept")};
    Send(store, commit);
    EXPECT_EQ(TextsIn(store, changes.key()), "one,two");
    token = TokenOf(Send(store, changes.Resume(LeaseRule::kForce)));
    Change write = changes.Write(token);
    write.messages = {Text("three")};
    Send(store, write);
    Send(store, changes.Update({{"title", "said"}}));
    Send(store, changes.Close(token));
  }
  // What the session has come to, by a server that has not seen it, and by its rows.
  std::string Picture(SessionStore& store, const SessionKey& key) {
    const auto loaded = store.LoadForDecision(key, std::nullopt);
    EXPECT_TRUE(loaded.ok());
    if (!loaded.ok()) return "";
    const Head& head = loaded->head;
    const auto rows = [&](const char* table) {
      return database().AskText(absl::StrCat("SELECT count(*)::text FROM holdfast.", table,
                                             " WHERE session_id = ", Quoted(key.session.value())));
    };
    EXPECT_EQ(rows("journal"), absl::StrCat(head.journal.value()));
    const auto audit = store.ReadAudit(key, AuditSeq(), kAllRecords);
    EXPECT_TRUE(audit.ok() && audit->records.back().hash == head.audit_chain);
    const auto events = store.ReadEvents(key, EventSeq(), kAllRecords);
    EXPECT_TRUE(events.ok() && events->events.back().seq == head.last_event);
    return absl::StrCat("revision ", head.revision.value(), " ", TextsIn(store, key), " epoch ",
                        head.lease.epoch.value(), " events ", head.last_event.value(), " log ",
                        rows("log"), " slots ", rows("slot"));
  }
  // The whole conversation with its n-th statement failing. False when it ended untouched.
  bool RunWithFault(size_t n, std::string& picture) {
    Fault fault(n, std::get<Loss>(GetParam()));
    Changes changes(Key(absl::StrCat("s", n)), random());
    const auto faulty = AnotherServer(fault.tap());
    fault.Arm();
    Converse(*faulty, changes);
    const auto again = AnotherServer();
    picture = Picture(*again, changes.key());
    // Of a deleted session nothing is left that would know the request again.
    const Change gone = changes.Delete();
    auto deleted = Caught([&] { return faulty->Commit(gone); });
    if (ReasonOf(deleted) == "STORE_UNAVAILABLE") deleted = faulty->Commit(gone);
    EXPECT_THAT(ReasonOf(deleted), AnyOf("OK", "TOMBSTONED"));
    fault.Disarm();
    EXPECT_EQ(ReasonOf(again->LoadForDecision(changes.key(), std::nullopt).status()), "TOMBSTONED");
    // Normal again: another session, by both.
    Changes others(Key(absl::StrCat("other", n)), random());
    const LeaseToken token = TokenOf(Send(*faulty, others.Create()));
    const auto written = again->Commit(others.Write(token));
    EXPECT_EQ(ReasonOf(written), "OK");
    EXPECT_EQ(ReasonOf(faulty->CheckHealth()), "OK");
    Close(faulty);
    Close(again);
    return fault.hit();
  }
};

TEST_P(PgStatementFaults, AnyStatementMayFailOnce) {
  constexpr size_t kAtLeast = 10;
  std::string untouched;
  RunWithFault(SIZE_MAX, untouched);
  size_t n = 1;
  for (std::string picture; !HasFailure() && RunWithFault(n, picture); ++n) {
    EXPECT_EQ(picture, untouched) << "behind the failure of statement " << n;
  }
  EXPECT_GE(n - 1, kAtLeast);
  std::printf("figure: %zu fault points\n", n - 1);
}

INSTANTIATE_TEST_SUITE_P(
    Pg, PgStatementFaults,
    ::testing::Combine(::testing::Values(Loss::kNeverCarriedOut, Loss::kAnswerLost,
                                         Loss::kThrowsBefore, Loss::kThrowsBehind),
                       ::testing::Values(Way::kByItself, Way::kInAGroup)),
    NameOfFaulted);

}  // namespace
}  // namespace holdfast::test
