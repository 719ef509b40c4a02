// Pieces of the edge without a server: trace context, page tokens, the worker pool, the start of
// stores.
#include "platform/scoped_blocking_call.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/call/status.h"
#include "server/rpc/call/trace.h"
#include "server/rpc/convert/sealed_text.h"
#include "server/rpc/read/page_token.h"
#include "server/rpc/watch/watch_cursor.h"
#include "server/stores.h"
#include "server/worker_pool.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/rpc/scripted_store.h"
#include "tests/support/details.h"
#include "tests/support/reference_store.h"
#include "tests/support/seeded_random.h"
#include "tests/support/wait.h"

#include "absl/strings/escaping.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

TEST(TraceParent, TakesWhatTheStandardTakes) {
  const auto parent = ParseTraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(parent->span_id, "b7ad6b7169203331");
  EXPECT_EQ(parent->flags, 1);
  EXPECT_EQ(ParseTraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe")->flags,
            0xfe);
  EXPECT_TRUE(ParseTraceParent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"));
}

TEST(TraceParent, IgnoresWhatIsNotValid) {
  for (const char* text : {"", "00", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"}) {
    EXPECT_FALSE(ParseTraceParent(text)) << text;
  }
}

TEST(TraceState, TakesWhatTheStandardTakes) {
  EXPECT_EQ(ParseTraceState("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  EXPECT_EQ(ParseTraceState("a=1 ,\t b=2,,4t@v/_-*=x y"), "a=1,b=2,4t@v/_-*=x y");
  EXPECT_EQ(ParseTraceState(""), "");
}

TEST(TraceState, IsDroppedWholeWhereItIsNotValid) {
  for (const char* text :
       {"a", "=1", "a=", "A=1", "a=1,a=2", "a=1=2", "-a=1", "a@b@c=1", "a@=1", "a=\x7f", "a=1,b"}) {
    EXPECT_EQ(ParseTraceState(text), "") << text;
  }
}

TEST(TraceState, IsBounded) {
  const auto members = [](int count) {
    std::string state;
    for (int i = 0; i < count; ++i) state += (i == 0 ? "k" : ",k") + std::to_string(i) + "=v";
    return state;
  };
  EXPECT_EQ(ParseTraceState(members(32)), members(32));
  EXPECT_EQ(ParseTraceState(members(33)), "");
  const std::string two = "a=" + std::string(250, 'x') + ",b=" + std::string(257, 'y');
  EXPECT_EQ(ParseTraceState(two), "") << "a value of 257 bytes";
  const std::string whole = "a=" + std::string(256, 'x') + ",b=" + std::string(251, 'y');
  EXPECT_EQ(whole.size(), kTraceStateBytes);
  EXPECT_EQ(ParseTraceState(whole), whole);
  EXPECT_EQ(ParseTraceState(whole + "z"), "");
}

TEST(PageToken, IsRefusedAfterARestore) {
  SeededRandom random;
  StoreDescription store{.store = NewReferenceDisk(random).store, .incarnation = Incarnation(1)};
  ListQuery query;
  query.tenant = *TenantId::Parse("default");
  const ListKey key{.created_at = absl::FromUnixNanos(1'234'567'891), .id = "session"};
  const std::string token = MakePageToken(store, query, key);
  const auto read = ReadPageToken(store, query, token);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->created_at, key.created_at);
  EXPECT_EQ(read->id, key.id);

  store.incarnation = Incarnation(2);
  const absl::Status restored = ReadPageToken(store, query, token).status();
  EXPECT_EQ(RefusalOf(restored).facts().at("why"), "restored");
  StoreDescription other = store;
  other.store = NewReferenceDisk(random).store;
  EXPECT_TRUE(Is(ReadPageToken(other, query, token).status(), Reason::kInvalidField));
}

TEST(PageToken, KeepsRowsWithoutATime) {
  SeededRandom random;
  const StoreDescription store{.store = NewReferenceDisk(random).store};
  const ListKey key{.created_at = absl::InfinitePast(), .id = "damaged"};
  EXPECT_EQ(ReadPageToken(store, {}, MakePageToken(store, {}, key))->created_at,
            absl::InfinitePast());
}

TEST(PageToken, EveryChangedByteIsSeen) {
  SeededRandom random;
  const StoreDescription store{.store = NewReferenceDisk(random).store};
  const std::string token = MakePageToken(store, {}, {.created_at = {}, .id = "session"});
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(ReadPageToken(store, {}, changed).ok()) << i;
  }
}

// Ways to write the bytes of a sealed text that a lenient reader would take.
std::vector<std::string> OtherSpellings(const std::string& sealed) {
  std::string bytes;
  EXPECT_TRUE(absl::WebSafeBase64Unescape(sealed, &bytes));
  std::vector<std::string> spellings = {sealed + "=", sealed + "==", sealed + "\n", " " + sealed,
                                        absl::Base64Escape(bytes)};
  // The last letter of a text of another length than a multiple of four has bits that say nothing.
  for (const char last : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
    std::string other = sealed;
    other.back() = last;
    std::string same;
    if (absl::WebSafeBase64Unescape(other, &same) && same == bytes) spellings.push_back(other);
  }
  std::erase(spellings, sealed);
  return spellings;
}

TEST(PageToken, HasOneSpelling) {
  SeededRandom random;
  const StoreDescription store{.store = NewReferenceDisk(random).store};
  for (const char* id : {"s", "se", "ses"}) {  // each length has its own padding
    const std::string token = MakePageToken(store, {}, {.created_at = {}, .id = id});
    ASSERT_TRUE(ReadPageToken(store, {}, token).ok());
    for (const std::string& other : OtherSpellings(token)) {
      EXPECT_TRUE(Is(ReadPageToken(store, {}, other).status(), Reason::kInvalidField)) << other;
    }
  }
}

TEST(WatchCursors, HaveOneSpelling) {
  SeededRandom random;
  const StoreDescription store{.store = NewReferenceDisk(random).store,
                               .incarnation = Incarnation(1)};
  const SessionKey key{*TenantId::Parse("default"), *SessionId::Parse("one")};
  const WatchCursors cursors(store, key, SessionUid());
  for (const uint64_t seq : {uint64_t{1}, uint64_t{1000}, uint64_t{1} << 40}) {
    const std::string cursor = cursors.Make(EventSeq(seq));
    ASSERT_EQ(cursors.Read(cursor).value_or(EventSeq()), EventSeq(seq));
    for (const std::string& other : OtherSpellings(cursor)) {
      EXPECT_TRUE(Is(cursors.Read(other).status(), Reason::kInvalidField)) << other;
    }
    // A number that takes one byte more than it needs, under a sum that is right.
    std::string body = *Unseal(cursor);
    body.back() = static_cast<char>(static_cast<unsigned char>(body.back()) | 0x80U);
    EXPECT_TRUE(Is(cursors.Read(Seal(body + '\0')).status(), Reason::kInvalidField));
  }
}

TEST(Admission, CountsWhileCallsComeAndGo) {
  Admission admission(kMiB);
  std::jthread calls([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_TRUE(admission.Admit(1).ok());
  });
  for (int look = 0; look < 10'000; ++look) EXPECT_LE(admission.InProgress(), 1U);
  calls.request_stop();
  calls.join();
  EXPECT_EQ(admission.InProgress(), 0U);
}

TEST(WorkerPool, RefusesWhatItsQueueCannotHold) {
  absl::Notification started;
  absl::Notification go;
  int done = 0;
  {
    WorkerPool pool({.workers = 1, .queued = 1});
    ASSERT_TRUE(pool.Submit([&] {
      started.Notify();
      go.WaitForNotification();
    }));
    started.WaitForNotification();
    EXPECT_TRUE(pool.Submit([&] { ++done; }));
    EXPECT_FALSE(pool.Submit([&] { ++done; }));
    EXPECT_EQ(pool.CurrentLoad().queued, 1);
    go.Notify();
  }
  EXPECT_EQ(done, 1);  // what was queued ran before the pool was gone
}

// Of two workers one may want the core: what comes next is begun when that one waits for something
// else, or ends.
TEST(WorkerPool, BeginsNothingWhileTheCoreIsWanted) {
  absl::Notification runs;
  absl::Notification wait;
  absl::Notification go_on;
  absl::Notification is_back;
  absl::Notification end;
  bool third = false;
  {
    WorkerPool pool({.workers = 2, .queued = 1, .on_core = 1});
    ASSERT_TRUE(pool.Submit([&] {
      runs.Notify();
      wait.WaitForNotification();
      {
        const ScopedBlockingCall blocking;
        const ScopedBlockingCall the_same_wait;
        go_on.WaitForNotification();
      }
      is_back.Notify();
      end.WaitForNotification();
    }));
    runs.WaitForNotification();
    ASSERT_TRUE(pool.Submit([&] { go_on.Notify(); }));
    EXPECT_EQ(pool.CurrentLoad().queued, 1);  // though a thread has nothing to do
    wait.Notify();
    is_back.WaitForNotification();
    ASSERT_TRUE(pool.Submit([&] { third = true; }));
    EXPECT_EQ(pool.CurrentLoad().queued, 1);
    end.Notify();
  }
  EXPECT_TRUE(third);
}

// All of them have come back from one sync.
TEST(WorkerPool, TakesBackOneAfterTheOther) {
  constexpr size_t kWorkers = 8;
  absl::Notification synced;
  std::atomic<uint64_t> all_awake = 0;  // steps of the pool when each wants its core again
  absl::Mutex mutex;
  std::vector<size_t> on_core;  // as each saw it that came back
  {
    WorkerPool pool({.workers = kWorkers,
                     .queued = kWorkers,
                     .on_core = 1,
                     .resume_wait_most = absl::InfiniteDuration()});
    for (size_t i = 0; i < kWorkers; ++i) {
      ASSERT_TRUE(pool.Submit([&] {
        {
          const ScopedBlockingCall blocking(ScopedBlockingCall::Resume::kQueued);
          synced.WaitForNotification();
        }
        EXPECT_TRUE(
            testing::WaitUntil([&] { return pool.CurrentActivity().steps >= all_awake.load(); }));
        const absl::MutexLock lock(&mutex);
        on_core.push_back(pool.CurrentLoad().on_core);
      }));
    }
    EXPECT_TRUE(testing::WaitUntil([&] {
      const WorkerPool::Load load = pool.CurrentLoad();
      return load.busy == kWorkers && load.on_core == 0;
    }));
    all_awake = pool.CurrentActivity().steps + kWorkers;
    synced.Notify();
  }
  EXPECT_EQ(on_core, std::vector<size_t>(kWorkers, 1));
}

// The other one may be waiting for what it holds.
TEST(WorkerPool, TakesBackAWorkerThoughTheCoreIsWantedForLong) {
  absl::Notification runs;
  absl::Notification end;
  WorkerPool pool({.workers = 2, .queued = 2, .on_core = 1});
  ASSERT_TRUE(pool.Submit([&] {
    {
      const ScopedBlockingCall blocking(ScopedBlockingCall::Resume::kQueued);
      runs.WaitForNotification();
    }
    end.Notify();
  }));
  ASSERT_TRUE(pool.Submit([&] {
    runs.Notify();
    end.WaitForNotification();
  }));
  EXPECT_TRUE(end.WaitForNotificationWithTimeout(absl::Minutes(1)));
}

TEST(Status, AFactIsCutAtACharactersBorder) {
  std::string text(kRefusalTextBytes - 1, 'x');
  text += "é";
  const grpc::Status status = ToGrpcStatus(Refusal(Reason::kLeaseHeld, "held").With("holder", text),
                                           {.trace_id = "t", .session = ""});
  EXPECT_EQ(ErrorInfoOf(DetailsOf(status)).metadata().at("holder"),
            std::string(kRefusalTextBytes - 1, 'x'));
}

class StoresTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Stores>> Open(bool active_fails, bool other_fails) {
    Config config;
    config.stores = {{.name = "main", .active = true, .root = "/main"},
                     {.name = "other", .root = "/other"},
                     {.name = "off", .enabled = false, .root = "/off"}};
    if (active_fails) main_.FailHealth(Refusal(Reason::kStoreUnavailable, "is read-only"));
    if (other_fails) other_.FailHealth(Refusal(Reason::kStoreUnavailable, "is read-only"));
    const StoreMaker make = [this](const StoreConfig& store, const Clock& clock, Random& random) {
      EXPECT_NE(store.name, "off");
      return std::make_unique<ScriptedStore>(
          std::make_unique<ReferenceStore>(
              std::make_shared<ReferenceDisk>(NewReferenceDisk(random)), clock),
          store.name == "main" ? main_ : other_);
    };
    return Stores::Open(config, make, SystemClock(), random_, log_);
  }

  [[nodiscard]] const std::string& Lines() const { return lines_; }

 private:
  SeededRandom random_;
  Script main_;
  Script other_;
  std::string lines_;
  Log log_{[this](LogLevel, const std::string& line) { lines_ += line; }, SystemClock()};
};

TEST_F(StoresTest, AFailedActiveStoreIsTheEnd) {
  const auto stores = Open(true, false);
  ASSERT_FALSE(stores.ok());
  EXPECT_EQ(std::string(stores.status().message()), "store main (fs, /main): is read-only");
}

TEST_F(StoresTest, AFailedOtherStoreIsAWarning) {
  const auto stores = Open(false, true);
  ASSERT_TRUE(stores.ok()) << stores.status();
  EXPECT_EQ((*stores)->warnings(),
            std::vector<std::string>{"store other (fs, /other): is read-only"});
  EXPECT_NE(Lines().find("\"warning\""), std::string::npos);
}

TEST_F(StoresTest, AllIsWell) {
  const auto stores = Open(false, false);
  ASSERT_TRUE(stores.ok());
  EXPECT_TRUE((*stores)->warnings().empty());
  EXPECT_TRUE((*stores)->active().CheckHealth().ok());
}

}  // namespace
}  // namespace holdfast::test
