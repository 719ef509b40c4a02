// The driver layer against a real server.
#include "store-postgres/pg/connection.h"

#include "store-postgres/pg/dsn.h"
#include "tests/support/counted_waits.h"
#include "tests/support/postgres.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <csignal>
#include <limits>
#include <thread>

namespace holdfast::testing {
namespace {

using pg::Connection;
using pg::Effect;
using pg::Failure;
using pg::Params;
using pg::Rows;
using pg::Statement;
using ::testing::HasSubstr;

Rows RowsOf(pg::Answer answer) {
  if (const Failure* failure = std::get_if<Failure>(&answer)) {
    ADD_FAILURE() << failure->sqlstate << " " << failure->text;
    std::abort();
  }
  return std::get<Rows>(std::move(answer));
}

Failure FailureOf(const pg::Answer& answer) {
  if (std::holds_alternative<Rows>(answer)) {
    ADD_FAILURE() << "it did not fail";
    return {};
  }
  return std::get<Failure>(answer);
}

std::unique_ptr<Connection> Shared() { return Connect(DsnOf(SharedPostgres(), "postgres")); }

TEST(PgConnection, ScalarsComeBackAsTheyWent) {
  constexpr Statement kEcho = {"echo",
                               "SELECT $1::text, $2::bytea, $3::bigint, $4::integer, $5::boolean, "
                               "$6::timestamptz, $7::interval, $8::text"};
  const std::string bytes("\0\xff'\\\n", 5);
  const absl::Time time = absl::FromUnixMicros(1'700'000'000'123'456);
  const absl::Duration span = absl::Hours(49) + absl::Microseconds(7);
  const auto connection = Shared();
  const Rows rows = RowsOf(connection->Run(kEcho, Params()
                                                      .Text("Zürich")
                                                      .Bytes(bytes)
                                                      .Int(std::numeric_limits<int64_t>::min())
                                                      .Int4(-7)
                                                      .Bool(true)
                                                      .Time(time)
                                                      .Interval(span)
                                                      .Null()));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.Text(0, 0), "Zürich");
  EXPECT_EQ(rows.Bytes(0, 1), bytes);
  EXPECT_EQ(rows.Int(0, 2), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(rows.Int4(0, 3), -7);
  EXPECT_TRUE(rows.Bool(0, 4));
  EXPECT_EQ(rows.Time(0, 5), time);
  EXPECT_EQ(rows.Interval(0, 6), span);
  EXPECT_TRUE(rows.IsNull(0, 7));
  EXPECT_FALSE(rows.IsNull(0, 0));
}

TEST(PgConnection, CountsAsBlockingCallUntilAnswer) {
  const auto connection = Shared();
  constexpr Statement kSleep = {"sleep", "SELECT pg_sleep(0.001)::text"};
  EXPECT_GE(WaitsOf([&] { RowsOf(connection->Run(kSleep, Params())); }), 1);
}

TEST(PgConnection, TheServerUnderstandsWhatTimesAndIntervalsMean) {
  const auto connection = Shared();
  constexpr Statement kTimes = {
      "times",
      "SELECT ($1::timestamptz AT TIME ZONE 'UTC')::text, $2::timestamptz::text, "
      "$3::interval::text, interval '1 month 2 days 3 seconds'"};
  const Rows rows = RowsOf(connection->Run(kTimes, Params()
                                                       .Time(absl::FromUnixSeconds(1'000'000'000))
                                                       .Time(absl::InfiniteFuture())
                                                       .Interval(absl::Seconds(90))));
  EXPECT_EQ(rows.Text(0, 0), "2001-09-09 01:46:40");
  EXPECT_EQ(rows.Text(0, 1), "infinity");
  EXPECT_EQ(rows.Text(0, 2), "00:01:30");
  EXPECT_EQ(rows.Interval(0, 3), absl::Hours(24) * 32 + absl::Seconds(3));
}

TEST(PgConnection, ArraysArriveElementByElement) {
  constexpr Statement kUnnest = {
      "unnest",
      "SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::integer[], "
      "$5::boolean[])"};
  const std::string bytes("\0b", 2);
  const auto connection = Shared();
  const Rows rows = RowsOf(connection->Run(kUnnest, Params()
                                                        .Texts({"a", ""})
                                                        .NullableBytesArray({bytes, std::nullopt})
                                                        .Ints({1, -2})
                                                        .Int4s({3, -4})
                                                        .Bools({true, false})));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.Text(0, 0), "a");
  EXPECT_EQ(rows.Text(1, 0), "");
  EXPECT_EQ(rows.Bytes(0, 1), bytes);
  EXPECT_TRUE(rows.IsNull(1, 1));
  EXPECT_EQ(rows.Int(0, 2), 1);
  EXPECT_EQ(rows.Int(1, 2), -2);
  EXPECT_EQ(rows.Int4(1, 3), -4);
  EXPECT_TRUE(rows.Bool(0, 4));
  EXPECT_FALSE(rows.Bool(1, 4));
}

TEST(PgConnection, AnEmptyArrayIsEmptyAndNotNull) {
  constexpr Statement kCount = {"count",
                                "SELECT cardinality($1::bytea[]), cardinality($2::bigint[])"};
  const auto connection = Shared();
  const Rows rows = RowsOf(connection->Run(kCount, Params().BytesArray({}).Ints({})));
  EXPECT_EQ(rows.Int4(0, 0), 0);
  EXPECT_EQ(rows.Int4(0, 1), 0);
}

TEST(PgConnection, AStatementIsPreparedOnce) {
  constexpr Statement kOne = {"one", "SELECT 1::bigint"};
  const auto connection = Shared();
  RowsOf(connection->Run(kOne, Params()));
  EXPECT_EQ(connection->counts().round_trips, 2U);
  RowsOf(connection->Run(kOne, Params()));
  RowsOf(connection->Run(kOne, Params()));
  EXPECT_EQ(connection->counts().round_trips, 4U);
  EXPECT_EQ(connection->counts().statements, 3U);
}

TEST(PgConnection, EightMebibytesGoThereAndBack) {
  constexpr Statement kEcho = {"big", "SELECT $1::bytea"};
  const std::string bytes(8 << 20, '\xab');
  const auto connection = Shared();
  const Rows rows = RowsOf(connection->Run(kEcho, Params().Bytes(bytes)));
  EXPECT_TRUE(rows.Bytes(0, 0) == bytes);
}

TEST(PgConnection, ARefusedStatementHadNoEffectAndLeavesTheConnectionGood) {
  constexpr Statement kDivide = {"divide", "SELECT 1 / $1::integer"};
  const auto connection = Shared();
  const Failure failure = FailureOf(connection->Run(kDivide, Params().Int4(0)));
  EXPECT_EQ(failure.effect, Effect::kNone);
  EXPECT_EQ(failure.sqlstate, "22012");
  EXPECT_TRUE(connection->usable());
  EXPECT_EQ(RowsOf(connection->Run(kDivide, Params().Int4(1))).Int4(0, 0), 1);
}

TEST(PgConnection, WhatCannotBePreparedHadNoEffect) {
  constexpr Statement kWrong = {"wrong", "SELECT nothing_of_that_name"};
  const auto connection = Shared();
  for (int i = 0; i < 2; ++i) {
    const Failure failure = FailureOf(connection->Run(kWrong, Params()));
    EXPECT_EQ(failure.effect, Effect::kNone);
    EXPECT_EQ(failure.sqlstate, "42703");
  }
  EXPECT_TRUE(connection->usable());
}

TEST(PgConnection, RejectsParameterOfAnotherTypeAtPrepare) {
  constexpr Statement kLength = {"length", "SELECT length($1)"};
  const auto connection = Shared();
  EXPECT_EQ(FailureOf(connection->Run(kLength, Params().Int(1))).sqlstate, "42883");
}

TEST(PgConnection, TheServerEndsAStatementThatTakesTooLong) {
  constexpr Statement kSleep = {"sleep", "SELECT pg_sleep(60)"};
  auto connection = Connection::Open(
      {.dsn = DsnOf(SharedPostgres(), "postgres"), .statement_timeout = absl::Milliseconds(50)});
  ASSERT_TRUE(connection.ok()) << connection.status();
  const Failure failure = FailureOf((*connection)->Run(kSleep, Params()));
  EXPECT_EQ(failure.effect, Effect::kNone);
  EXPECT_EQ(failure.sqlstate, pg::kQueryCanceled);
  EXPECT_TRUE((*connection)->usable());
}

TEST(PgConnection, AServerThatEndsTheConnectionLeavesTheOutcomeUnknown) {
  constexpr Statement kEnd = {"end", "SELECT pg_terminate_backend(pg_backend_pid())"};
  const auto connection = Shared();
  const Failure failure = FailureOf(connection->Run(kEnd, Params()));
  EXPECT_EQ(failure.effect, Effect::kUnknown);
  EXPECT_EQ(failure.sqlstate, "57P01");
  EXPECT_FALSE(connection->usable());
  // Nothing is sent from then on, and no new connection is made.
  EXPECT_EQ(FailureOf(connection->Run(kEnd, Params())).effect, Effect::kNone);
}

TEST(PgConnection, AnIdleConnectionThatWasEndedLooksUnusable) {
  constexpr Statement kEnd = {"end_other", "SELECT pg_terminate_backend($1, 10000)"};
  const auto connection = Shared();
  EXPECT_TRUE(connection->LooksUsable());
  const auto other = Shared();
  EXPECT_TRUE(RowsOf(other->Run(kEnd, Params().Int4(connection->backend_pid()))).Bool(0, 0));
  EXPECT_FALSE(connection->LooksUsable());
  constexpr Statement kOne = {"one", "SELECT 1::bigint"};
  EXPECT_EQ(FailureOf(connection->Run(kOne, Params())).effect, Effect::kNone);
}

TEST(PgConnection, ACrashOfTheServerUnderAStatementLeavesTheOutcomeUnknown) {
  constexpr Statement kWait = {"wait", "SELECT pg_sleep(60)"};
  constexpr Statement kSeen = {
      "seen", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"};
  OwnPostgres postgres({"fsync=off"});
  postgres.Start();
  const auto connection = Connect(postgres.dsn());
  const auto watcher = Connect(postgres.dsn());
  Failure failure;
  std::thread waiting([&] { failure = FailureOf(connection->Run(kWait, Params())); });
  while (RowsOf(watcher->Run(kSeen, Params())).Int(0, 0) == 0) {
  }
  postgres.Kill();
  waiting.join();
  EXPECT_EQ(failure.effect, Effect::kUnknown);
  EXPECT_FALSE(watcher->LooksUsable());
  postgres.Start();
  EXPECT_FALSE(connection->usable());
  EXPECT_TRUE(Connect(postgres.dsn())->usable());
}

// Stopped, not ended: the connection stays open, and nothing arrives.
TEST(PgConnection, AServerThatFallsSilentIsGivenUp) {
  constexpr Statement kOne = {"one", "SELECT 1::bigint"};
  OwnPostgres postgres({"fsync=off"});
  postgres.Start();
  auto connection = Connection::Open({.dsn = postgres.dsn(),
                                      .statement_timeout = absl::Milliseconds(100),
                                      .silence = absl::Milliseconds(100)});
  ASSERT_TRUE(connection.ok()) << connection.status();
  RowsOf((*connection)->Run(kOne, Params()));
  kill((*connection)->backend_pid(), SIGSTOP);
  const Failure failure = FailureOf((*connection)->Run(kOne, Params()));
  EXPECT_EQ(failure.effect, Effect::kUnknown);
  EXPECT_FALSE((*connection)->usable());
}

// It arrives while a statement is prepared, so the statement itself was never sent.
TEST(PgConnection, AConnectionThatEndsWhileAStatementIsPreparedHadNoEffect) {
  constexpr Statement kEnd = {"end_other", "SELECT pg_terminate_backend($1, 10000)"};
  constexpr Statement kOne = {"one", "SELECT 1::bigint"};
  const auto connection = Shared();
  RowsOf(Shared()->Run(kEnd, Params().Int4(connection->backend_pid())));
  // Not looked at before it is used, as when it ends between the two.
  EXPECT_EQ(FailureOf(connection->Run(kOne, Params())).effect, Effect::kNone);
  EXPECT_FALSE(connection->usable());
}

// The wait for a standby that is not there can be cancelled: the server then says success.
TEST(PgConnection, AnAnswerWithoutItsStandbyIsNotBelieved) {
  constexpr Statement kInsert = {"insert", "INSERT INTO public.things VALUES (1)"};
  constexpr Statement kCancel = {"cancel",
                                 "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE "
                                 "wait_event = 'SyncRep'"};
  OwnPostgres postgres({"fsync=off", "synchronous_standby_names=absent"});
  postgres.Start();
  const auto connection = Connect(postgres.dsn());
  for (const char* sql : {"SET synchronous_commit = local", "CREATE TABLE public.things (a int)",
                          "SET synchronous_commit = on"}) {
    ASSERT_EQ(connection->Script(sql), absl::OkStatus());
  }
  const auto other = Connect(postgres.dsn());
  Failure failure;
  std::thread waiting([&] { failure = FailureOf(connection->Run(kInsert, Params())); });
  while (RowsOf(other->Run(kCancel, Params())).empty()) {
  }
  waiting.join();
  EXPECT_EQ(failure.effect, Effect::kUnknown);
  EXPECT_FALSE(connection->usable());
}

TEST(PgConnection, HidesPasswordWhenUnreachable) {
  const auto none = Connection::Open({.dsn = "host=/nonexistent dbname=x", .password = "hush"});
  ASSERT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(none.status().message().find("hush"), std::string::npos);
  EXPECT_EQ(Connection::Open({.dsn = "host"}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PgConnection, TheSecondHostIsTakenWhenTheFirstIsNotThere) {
  const std::string dsn =
      absl::StrCat("host=/nonexistent,", SharedPostgres(), " user=holdfast dbname=postgres");
  const auto connection = Connect(dsn);
  EXPECT_THAT(connection->Peer(), HasSubstr(SharedPostgres()));
}

TEST(PgConnection, KnowsWhichHostItReached) {
  const std::string dsn =
      absl::StrCat("host=/nonexistent,", SharedPostgres(), " user=holdfast dbname=postgres");
  EXPECT_EQ(Connect(dsn)->Host(dsn), 1U);
  EXPECT_EQ(pg::HostIn("host=a,b,a port=1,2,3", "a", "3"), 2U);
  EXPECT_EQ(pg::HostIn("host=a,b,a", "a", "5432"), std::nullopt);
  EXPECT_EQ(pg::HostIn("host=a,b", "c", "5432"), std::nullopt);
}

TEST(PgConnection, SettingsOfTheDsnStay) {
  constexpr Statement kShow = {"show",
                               "SELECT current_setting('work_mem'), "
                               "current_setting('statement_timeout')"};
  const auto connection =
      Connect(DsnOf(SharedPostgres(), "postgres") + " options='-c work_mem=5MB'");
  const Rows rows = RowsOf(connection->Run(kShow, Params()));
  EXPECT_EQ(rows.Text(0, 0), "5MB");
  EXPECT_EQ(rows.Text(0, 1), "30s");
}

// The warning that a wait for a standby was cut short is one, whatever the role says of itself.
TEST(PgConnection, WarningsAlwaysArrive) {
  constexpr Statement kShow = {"show", "SELECT current_setting('client_min_messages')"};
  const auto connection =
      Connect(DsnOf(SharedPostgres(), "postgres") + " options='-c client_min_messages=error'");
  EXPECT_EQ(RowsOf(connection->Run(kShow, Params())).Text(0, 0), "warning");
}

TEST(PgConnection, AScriptIsOneTransaction) {
  const TestDatabase database(Contents::kNothing);
  const auto connection = Connect(database.dsn());
  EXPECT_THAT(
      std::string(connection->Script("CREATE TABLE public.a (b int); SELECT 1/0").message()),
      HasSubstr("division by zero"));
  constexpr Statement kThere = {"there", "SELECT to_regclass('public.a') IS NOT NULL"};
  EXPECT_FALSE(RowsOf(connection->Run(kThere, Params())).Bool(0, 0));
  EXPECT_EQ(connection->Script("BEGIN"), absl::OkStatus());
  EXPECT_FALSE(connection->Idle());
  EXPECT_EQ(connection->Script("CREATE TABLE public.a (b int); COMMIT"), absl::OkStatus());
  EXPECT_TRUE(connection->Idle());
  EXPECT_TRUE(RowsOf(connection->Run(kThere, Params())).Bool(0, 0));
}

// The words of a failure go to a log, where what sessions hold does not belong.
TEST(PgConnection, WhatAFailureSaysHasNoValuesOfRows) {
  constexpr Statement kInsert = {"insert", "INSERT INTO public.a VALUES ($1, 'hush')"};
  const TestDatabase database(Contents::kNothing);
  const auto connection = Connect(database.dsn());
  ASSERT_EQ(connection->Script("CREATE TABLE public.a (b text PRIMARY KEY CHECK (b <> 'hush2'), "
                               "c text)"),
            absl::OkStatus());
  RowsOf(connection->Run(kInsert, Params().Text("hush1")));
  for (const char* value : {"hush1", "hush2"}) {
    const Failure failure = FailureOf(connection->Run(kInsert, Params().Text(value)));
    EXPECT_THAT(failure.text, HasSubstr("constraint"));
    EXPECT_EQ(failure.text.find("hush"), std::string::npos) << failure.text;
  }
}

TEST(PgConnection, CopyIsNotSpoken) {
  const auto connection = Shared();
  const auto failure = connection->Try("COPY (SELECT 1) TO STDOUT");
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->text, HasSubstr("COPY"));
  EXPECT_FALSE(connection->usable());
}

TEST(PgConnection, ATapFailsStatementsBeforeAndAfter) {
  const TestDatabase database(Contents::kNothing);
  auto tap = std::make_shared<pg::Tap>();
  tap->before = [](std::string_view name) -> std::optional<Failure> {
    if (name != "first") return std::nullopt;
    return Failure{.effect = Effect::kNone, .sqlstate = "53100"};
  };
  tap->after = [](std::string_view name) -> std::optional<Failure> {
    if (name != "second") return std::nullopt;
    return Failure{.effect = Effect::kUnknown};
  };
  auto connection = Connection::Open({.dsn = database.dsn(), .tap = tap});
  ASSERT_TRUE(connection.ok());
  ASSERT_EQ((*connection)->Script("CREATE TABLE public.a (b int)"), absl::OkStatus());
  constexpr Statement kFirst = {"first", "INSERT INTO public.a VALUES (1)"};
  constexpr Statement kSecond = {"second", "INSERT INTO public.a VALUES (2)"};
  constexpr Statement kAll = {"all", "SELECT b FROM public.a"};
  EXPECT_EQ(FailureOf((*connection)->Run(kFirst, Params())).sqlstate, "53100");
  EXPECT_EQ(FailureOf((*connection)->Run(kSecond, Params())).effect, Effect::kUnknown);
  const Rows rows = RowsOf((*connection)->Run(kAll, Params()));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.Int4(0, 0), 2);
}

}  // namespace
}  // namespace holdfast::testing
