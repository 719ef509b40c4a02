// One line of behaviour broken, and the test that guards it: it must fail, and for that reason.
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Row {
  std::string saboteur;  // as $HOLDFAST_SABOTEUR names it
  std::string area;      // the test binary
  std::string test;
  std::string says;  // what the failure must name: an extended regular expression
  int times = 1;     // that it is run broken until it is red, where chance decides what goes wrong
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.saboteur << " on " << row.test;
}

const Row kRows[] = {
    {.saboteur = "no_file_sync",
     .area = "faults",
     .test = "CrashStates.EveryOneKeepsWhatWasAcknowledged",
     .says = "; acknowledged "},
    {.saboteur = "no_directory_sync",
     .area = "faults",
     .test = "CrashStates.EveryOneKeepsWhatWasAcknowledged",
     .says = "found not there; acknowledged "},
    {.saboteur = "acknowledge_before_sync",
     .area = "faults",
     .test = "CrashStates.EveryOneKeepsWhatWasAcknowledged",
     .says = "; acknowledged "},
    {.saboteur = "no_epoch_check",
     .area = "contract",
     .test = "Stores/Contract.C113_RaisingTheEpochFencesAndGrantsNothing/fs",
     .says = "FENCED"},
    {.saboteur = "no_epoch_check",
     .area = "recovery",
     .test = "PausedHolder.WakesUpFencedOffFromEverything",
     .says = "old BeginTurn CONCURRENT_TURN"},
    {.saboteur = "no_epoch_check",
     .area = "recovery",
     .test = "Traffic.IsServedAsByOneStoreWhileTheServerIsKilled",
     .says = "acted with the token of epoch "},
    {.saboteur = "no_request_check",
     .area = "recovery",
     .test = "Traffic.IsServedAsByOneStoreWhileTheServerIsKilled",
     .says = ": acted twice: "},
    {.saboteur = "no_request_check",
     .area = "recovery",
     .test = "Twins.CommitOnce",
     .says = "ILLEGAL_TRANSITION"},
    {.saboteur = "no_request_check",
     .area = "contract",
     .test = "Stores/Contract.C047_EightCopiesAtOnceHaveOneEffectAndEqualAnswers/fs",
     .says = "Which is: "},
    {.saboteur = "no_bounds",
     .area = "contract",
     .test = "Stores/Contract.C198_AttributesAreBoundedInNumberOnTheResult/fs",
     .says = "TOO_LARGE"},
    {.saboteur = "no_bounds",
     .area = "contract",
     .test = "Stores/Contract.C200_SlotsAreBoundedOnTheResult/fs",
     .says = "TOO_LARGE"},
    {.saboteur = "no_bounds",
     .area = "contract",
     .test = "Stores/Contract.C199_AttributesAreBoundedInBytesOnTheResult/fs",
     .says = "TOO_LARGE"},
    {.saboteur = "no_frame_bound",
     .area = "faults",
     .test = "Limits.AFrameIsNotEncodedOverItsBound",
     .says = "kTooLarge"},
    {.saboteur = "no_watermarks",
     .area = "recovery",
     .test = "CutJournal.InsideAFrameAfterAnOrderlyEndIsDamage",
     .says = "DAMAGED"},
    {.saboteur = "no_wire_counts",
     .area = "unit",
     .test = "WireCounts.AreTakenBeforeMemoryIsAndBeforeAnythingIsParsed",
     .says = "Is[(]status, Reason::kTooLarge[)]"},
    {.saboteur = "no_trace_cap",
     .area = "rpc",
     .test = "TracesRpc.KeepsAsManyAsTheCapAndCountsTheRest",
     .says = "unsampled_by_cap"},
    {.saboteur = "no_memory_guard",
     .area = "recovery",
     .test = "Stores/UnbegunCalls.HalfSentRequestsTakeNoMoreThanTheProcessMay/Files",
     .says = "PeakBytes"},
    {.saboteur = "no_memory_guard",
     .area = "recovery",
     .test = "Stores/UnbegunCalls.HeadersTakeNoMoreThanTheProcessMay/Files",
     .says = "PeakBytes"},
    {.saboteur = "no_worker_watch",
     .area = "unit",
     .test = "WorkerStallTest.IsWhereTasksWaitAndNoWorkerMakesProgress",
     .says = "StalledAfter[(]2 [*] kWorkerBeat[)]"},
    {.saboteur = "no_worker_watch",
     .area = "rpc",
     .test = "HealthRpc.LivenessIsNotServingWhileWorkersAreStalled",
     .says = "NOT_SERVING"},
    {.saboteur = "no_connection_limit",
     .area = "unit",
     .test = "ConnectionTable.TakesAsManyAsItsLimitsSay",
     .says = "kTooManyOfPeer"},
    {.saboteur = "no_reset_limit",
     .area = "recovery",
     .test = "Stores/RapidReset.OfWholeCallsDisconnectsThePeer/Files",
     .says = "gives up its calls again and again"},
    {.saboteur = "no_waiter_bound",
     .area = "faults",
     .test = "StalledSession.LeavesWorkersToTheOthers",
     .says = "kWaitersPerSession"},
    {.saboteur = "no_waiter_bound",
     .area = "postgres",
     .test = "PgLockedSession.LeavesWorkersToTheOthers",
     .says = "kWaitersPerSession"},
    {.saboteur = "no_shared_reads",
     .area = "rpc",
     .test = "SharedWatches.ReadOncePerChange",
     .says = "EventReads"},
    {.saboteur = "sweep_from_start",
     .area = "unit",
     .test = "SessionsSweep.GoesOnWhereTheLastOneStopped",
     .says = "RecoverDue[(]kQuiet, 2[)]"},
    {.saboteur = "request_id_in_events",
     .area = "recovery",
     .test = "TokenTheft.NothingThatIsReadYieldsATokenOrWrites",
     .says = "handed out the token of "},
    {.saboteur = "end_transport_first",
     .area = "recovery",
     .test = "Stores/Sigterm.OfOneServerFailsNoCall/Files",
     .says = "calls failed in [0-9]+ restarts",
     .times = 4},
    {.saboteur = "wall_clock_retention",
     .area = "faults",
     .test = "By/WallClockSteps.NoRetryActsTwice/Ahead2",
     .says = "Must[(]change[)][.]kind"},
    {.saboteur = "no_stream_limits",
     .area = "rpc",
     .test = "SilentStreamsRpc.AJournalOnWhichNothingComesEndsAndWhatCameStands",
     .says = "DEADLINE"},
    {.saboteur = "no_stream_limits",
     .area = "rpc",
     .test = "SilentStreamsRpc.AReaderThatReadsAgainSeesWhyItWasEnded",
     .says = "reason.*DEADLINE"},
    {.saboteur = "shortage_is_failure",
     .area = "recovery",
     .test = "StarvedServer.OutlivesAProcessWithoutDescriptors",
     .says = "outcome"},
    {.saboteur = "no_rotation_backoff",
     .area = "faults",
     .test = "PutOffRotation.IsTriedNowAndThenAndSaidOnce",
     .says = "it was tried again though no time has passed"},
    {.saboteur = "no_connection_life",
     .area = "recovery",
     .test = "SilentConnection.IsClosedWhenNoSettingsCome",
     .says = "silent[.]AwaitEnd"},
    {.saboteur = "no_connection_life",
     .area = "recovery",
     .test = "IdleConnections.AreClosedWhenTheyHaveNoCallForTheConfiguredTime",
     .says = "GRPC_CHANNEL_READY"},
    {.saboteur = "no_connection_life",
     .area = "recovery",
     .test = "IdleConnections.OfTheConfiguredAgeAreClosedAndNoCallFails",
     .says = "GRPC_CHANNEL_READY"},
    {.saboteur = "no_log_bound",
     .area = "unit",
     .test = "LogLine.OfATextThatIsTooLongIsCutAndStaysJson",
     .says = "kLogLineBytes"},
    {.saboteur = "no_probe_bounds",
     .area = "rpc",
     .test = "HealthRpc.MoreWatchesThanTheLimitAreRefusedUntilOneEnds",
     .says = "it is one too many"},
    {.saboteur = "no_probe_bounds",
     .area = "rpc",
     .test = "HealthRpc.RefusesALargeRequest",
     .says = "TOO_LARGE"},
    {.saboteur = "no_probe_bounds",
     .area = "recovery",
     .test = "ReflectionStreams.RefuseALargeRequest",
     .says = "TOO_LARGE"},
    {.saboteur = "no_renewal_bound",
     .area = "rpc",
     .test = "CancelRpc.ARenewalSaysForWhichLeasesTheMarksWereLeftOut",
     .says = "status[.]ok[(][)]"},
    {.saboteur = "no_bounds",
     .area = "rpc",
     .test = "AuditRpc.FactsAreBoundedTogether",
     .says = "TOO_LARGE"},
    {.saboteur = "no_kept_bound",
     .area = "unit",
     .test = "Apply.GrantsAreRememberedForADayAndNeverTooMany",
     .says = "kGrantsKept"},
    {.saboteur = "no_kept_bound",
     .area = "unit",
     .test = "Apply.EndedTurnsAreKeptAsLongAsTheirJournalAndNeverTooMany",
     .says = "kSnapshotsKept"},
    {.saboteur = "no_lease_row_bound",
     .area = "faults",
     .test = "LeaseTableTest.SessionsThatWereGivenBackAreBounded",
     .says = "kMost [+] 1"},
    {.saboteur = "no_shared_check",
     .area = "rpc",
     .test = "AuditRpc.TheStoreIsDescribedAndChecked",
     .says = "they are shared"},
    {.saboteur = "no_queue_bound",
     .area = "rpc",
     .test = "WorkerPool.RefusesWhatItsQueueCannotHold",
     .says = "pool[.]CurrentLoad"},
    {.saboteur = "inflate",
     .area = "recovery",
     .test = "By/Compressed.MessagesAreRefusedBeforeTheyAreInflated/Gzip",
     .says = "UNIMPLEMENTED"},
    {.saboteur = "no_stream_limits",
     .area = "recovery",
     .test = "UnreadReplies.AreCancelledAfterTheWriteTimeout",
     .says = "calls_in_progress"},
    {.saboteur = "forget_replies",
     .area = "recovery",
     .test = "UnreadReplies.CountTowardsTheMemoryBudget",
     .says = "memory_bytes"},
    {.saboteur = "no_peer_bound",
     .area = "unit",
     .test = "ResetCounterTest.RemembersAsManyPeersAsItMay",
     .says = "more are remembered than may be"},
    {.saboteur = "no_peer_bound",
     .area = "unit",
     .test = "NewConnectionRate.RemembersAsManyPeersAsItMay",
     .says = "more are remembered than may be"},
    {.saboteur = "no_connection_limit",
     .area = "unit",
     .test = "ConnectionTable.RefusesConnectionsThatComeTooFast",
     .says = "kNewConnectionsBurst"},
    {.saboteur = "no_resume_bound",
     .area = "unit",
     .test = "SessionsResume.ReadsABoundedPartOfTheAbandonedTurnAndSaysSo",
     .says = "kOpenToolUsesShown"},
    {.saboteur = "no_page_bytes",
     .area = "rpc",
     .test = "ReadsRpc.APageOfLongRowsFitsIntoADefaultClient",
     .says = "status[.]ok|kPageBytes|error"},
    {.saboteur = "no_fact_bound",
     .area = "rpc",
     .test = "Status.AFactIsCutAtACharactersBorder",
     .says = "kRefusalTextBytes"},
    {.saboteur = "no_watcher_limit",
     .area = "rpc",
     .test = "WatchRpc.OneTooManyIsOverloaded",
     .says = "it is one too many"},
    {.saboteur = "no_reset_limit",
     .area = "recovery",
     .test = "Stores/RapidReset.OfCallsThatEndWithoutTheirRequestDisconnectsThePeer/Files",
     .says = "it is still connected"},
    {.saboteur = "no_missing_requests",
     .area = "recovery",
     .test = "Stores/RapidReset.OfCallsThatEndWithoutTheirRequestDisconnectsThePeer/Files",
     .says = "it is still connected"},
    {.saboteur = "end_throwing_worker",
     .area = "faults",
     .test = "Exceptions.SpoilNoOtherChangeOfTheirBatch",
     .says = "results.0..ok"},
    {.saboteur = "end_throwing_worker",
     .area = "rpc",
     .test = "WorkerPool.GoesOnBehindATaskThatThrows",
     .says = "done[.]WaitForNotificationWithTimeout"},
    {.saboteur = "drop_errors_too",
     .area = "unit",
     .test = "LogWriter.DropsErrorsLast",
     .says = "whose element #1 doesn't match"},
    {.saboteur = "lose_failed_prunes",
     .area = "postgres",
     .test = "PgFailedPrunes.AreTriedAgainForAClosedSession",
     .says = "kKept"},
    {.saboteur = "lose_overflow",
     .area = "postgres",
     .test = "PgFeedOverflow.WakesEverySessionThatOneLookCutsOff",
     .says = "were woken"},
    {.saboteur = "hold_whole_share",
     .area = "rpc",
     .test = "SilentStreamsRpc.AnIdleStreamHoldsLittleMemory",
     .says = "kIdleStreamBytes"},
    {.saboteur = "reserve_announced",
     .area = "rpc",
     .test = "CommitTurnStreamRpc.WhatArrivesIsReservedInSteps",
     .says = "kStagedStepBytes"},
    {.saboteur = "no_log_bound",
     .area = "unit",
     .test = "LogWriter.CountsWhatAFullQueueDrops",
     .says = "log lines were dropped 2"},
    {.saboteur = "believe_incomplete_listing",
     .area = "unit",
     .test = "SessionsLatest.IsNotAnsweredFromAListingThatIsNotComplete",
     .says = "STORE_UNAVAILABLE"},
    {.saboteur = "no_cache_bytes",
     .area = "unit",
     .test = "HeadCache.IsBoundedByBytes",
     .says = "kMiB"},
    {.saboteur = "refuse_from_cache",
     .area = "unit",
     .test = "SessionsCache.AnOldHeadNeverRefuses",
     .says = "CONCURRENT_TURN"},
    {.saboteur = "skip_event",
     .area = "rpc",
     .test = "WatchRpc.FromANumber",
     .says = "Text[(]watch[.]UntilProgress[(][)][)]"},
    {.saboteur = "no_epoch_check",
     .area = "postgres",
     .test = "PausedCrowd.NothingItDoesWhenItWakesHasAnyEffect",
     .says = " turns after it was paused"},
    {.saboteur = "no_version_check",
     .area = "postgres",
     .test = "Servers.ATakeOverAtOneFencesTheHolderAtTheOther",
     .says = "FENCED"},
    {.saboteur = "no_epoch_check",
     .area = "postgres",
     .test = "PostgresTraffic.ARecordWithOneThingWrongIsNotPassed",
     .says = ": old epoch: "},
    {.saboteur = "no_version_check",
     .area = "postgres",
     .test = "PostgresTraffic.ARecordWithOneThingWrongIsNotPassed",
     .says = "session [0-9]+: (stale|entries|ending|illegal|refusal): |duplicate key value",
     .times = 4},
    {.saboteur = "no_request_check",
     .area = "postgres",
     .test = "PostgresTraffic.ARecordWithOneThingWrongIsNotPassed",
     .says = ": acted twice: "},
    {.saboteur = "believe_cancelled_wait",
     .area = "postgres",
     .test = "PgStandbyFaults.ACancelledWaitAcknowledgesNothingThatAFailoverCouldLose",
     .says = "answer[.]wait_for[(]std::chrono::seconds[(]0[)][)]"},
    {.saboteur = "no_reply_flush",
     .area = "postgres",
     .test = "PgStandbyFaults.NeverIsNotSaidOfWhatAFailoverCouldStillBringBack",
     .says = "told[.]reply[.]outcome[(][)]"},
    {.saboteur = "no_timeline_check",
     .area = "postgres",
     .test = "PgFailover.AServerThatHasSeenTheNewPrimaryTakesNothingFromTheOldOne",
     .says = "served[.]client->Reason[(]&Stub::GetSession, get[)]"},
    {.saboteur = "lease_by_own_clock",
     .area = "postgres",
     .test = "By/WrongClock.LeasesEndAndSweepsComeByTheDatabasesClock/AnHourAhead",
     .says = "refused[.]verdict[.]reason"},
    {.saboteur = "wait_for_locked_row",
     .area = "postgres",
     .test = "PgGroupCommit.AMemberWhoseRowIsLockedHoldsBackNobodyElse",
     .says = "ReasonOf[(]locked[)]"},
};

class Saboteurs : public ::testing::TestWithParam<Row> {};

TEST_P(Saboteurs, TurnsItsTestRed) {
  const Row& row = GetParam();
  const TestFolder folder;
  const std::string said = folder.File("said");
  const std::string program = Program("../tests/" + row.area + "_test");
  const std::vector<std::string> command = {program, "--gtest_filter=" + row.test};
  EXPECT_EQ(RunToEnd(command, said, said).exit_code, 0) << "red already:\n" << ReadText(said);

  setenv("HOLDFAST_SABOTEUR", row.saboteur.c_str(), 1);
  const std::string broken = folder.File("broken");
  Ending ending = RunToEnd(command, broken, broken);
  for (int i = 1; i < row.times && ending.exit_code == 0; ++i) {
    ending = RunToEnd(command, broken, broken);
  }
  unsetenv("HOLDFAST_SABOTEUR");
  EXPECT_EQ(ending.exit_code, 1) << "it stayed green, or ended by signal " << ending.signal;
  EXPECT_THAT(ReadText(broken), HasSubstr("[  FAILED  ] " + row.test));
  EXPECT_THAT(ReadText(broken), ContainsRegex(row.says));
}

#ifdef __SANITIZE_THREAD__
// What ThreadSanitizer does not find it does not guard: a race that was put there must be seen.
TEST(SaboteurOfThreads, IsFound) {
  const TestFolder folder;
  const std::string said = folder.File("said");
  const std::vector<std::string> command = {Program("../tests/rpc_test"),
                                            "--gtest_filter=Admission.CountsWhileCallsComeAndGo"};
  EXPECT_EQ(RunToEnd(command, said, said).exit_code, 0) << "red already:\n" << ReadText(said);
  setenv("HOLDFAST_SABOTEUR", "no_lock", 1);
  const std::string broken = folder.File("broken");
  const Ending ending = RunToEnd(command, broken, broken);
  unsetenv("HOLDFAST_SABOTEUR");
  EXPECT_NE(ending.exit_code, 0) << "the race was not found";
  EXPECT_THAT(ReadText(broken), HasSubstr("WARNING: ThreadSanitizer: data race"));
  EXPECT_THAT(ReadText(broken), HasSubstr("InProgress"));
}
#endif

// A row's saboteur, area and test, in the characters that a test's name may have.
INSTANTIATE_TEST_SUITE_P(Saboteur, Saboteurs, ::testing::ValuesIn(kRows), [](const auto& param) {
  const Row& row = param.param;
  return absl::StrReplaceAll(row.saboteur + "_" + row.area + "_" + row.test,
                             {{".", "_"}, {"/", "_"}});
});

}  // namespace
}  // namespace holdfast::testing
