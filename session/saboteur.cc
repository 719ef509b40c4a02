#include "session/saboteur.h"

#ifdef HOLDFAST_SABOTEURS

#include <cstdlib>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

constexpr std::pair<std::string_view, Saboteur> kNames[] = {
    {"", Saboteur::kNone},
    {"no_file_sync", Saboteur::kNoFileSync},
    {"no_journal_sync", Saboteur::kNoJournalSync},
    {"no_directory_sync", Saboteur::kNoDirectorySync},
    {"no_epoch_check", Saboteur::kNoEpochCheck},
    {"no_request_check", Saboteur::kNoRequestCheck},
    {"acknowledge_before_sync", Saboteur::kAcknowledgeBeforeSync},
    {"no_lock", Saboteur::kNoLock},
    {"refuse_from_cache", Saboteur::kRefuseFromCache},
    {"skip_event", Saboteur::kSkipEvent},
    {"no_version_check", Saboteur::kNoVersionCheck},
    {"no_reply_flush", Saboteur::kNoReplyFlush},
    {"believe_cancelled_wait", Saboteur::kBelieveCancelledWait},
    {"no_timeline_check", Saboteur::kNoTimelineCheck},
    {"lease_by_own_clock", Saboteur::kLeaseByOwnClock},
    {"wait_for_locked_row", Saboteur::kWaitForLockedRow},
    {"no_bounds", Saboteur::kNoBounds},
    {"no_frame_bound", Saboteur::kNoFrameBound},
    {"no_watermarks", Saboteur::kNoWatermarks},
    {"no_wire_counts", Saboteur::kNoWireCounts},
    {"no_memory_guard", Saboteur::kNoMemoryGuard},
    {"no_worker_watch", Saboteur::kNoWorkerWatch},
    {"no_trace_cap", Saboteur::kNoTraceCap},
    {"no_connection_limit", Saboteur::kNoConnectionLimit},
    {"no_reset_limit", Saboteur::kNoResetLimit},
    {"no_waiter_bound", Saboteur::kNoWaiterBound},
    {"no_shared_reads", Saboteur::kNoSharedReads},
    {"sweep_from_start", Saboteur::kSweepFromStart},
    {"request_id_in_events", Saboteur::kRequestIdInEvents},
    {"end_transport_first", Saboteur::kEndTransportFirst},
    {"wall_clock_retention", Saboteur::kWallClockRetention},
    {"no_stream_limits", Saboteur::kNoStreamLimits},
    {"hold_whole_share", Saboteur::kHoldWholeShare},
    {"reserve_announced", Saboteur::kReserveAnnounced},
    {"no_log_bound", Saboteur::kNoLogBound},
    {"believe_incomplete_listing", Saboteur::kBelieveIncompleteListing},
    {"no_cache_bytes", Saboteur::kNoCacheBytes},
    {"shortage_is_failure", Saboteur::kShortageIsFailure},
    {"no_rotation_backoff", Saboteur::kNoRotationBackoff},
    {"lose_failed_prunes", Saboteur::kLoseFailedPrunes},
    {"lose_overflow", Saboteur::kLoseOverflow},
    {"drop_errors_too", Saboteur::kDropErrorsToo},
    {"end_throwing_worker", Saboteur::kEndThrowingWorker},
    {"resume_immediately", Saboteur::kResumeImmediately},
    {"forget_doubt", Saboteur::kForgetDoubt},
    {"stop_at_shortage", Saboteur::kStopAtShortage},
    {"no_suspension", Saboteur::kNoSuspension},
    {"read_after_shutdown", Saboteur::kReadAfterShutdown},
    {"no_reflection_limit", Saboteur::kNoReflectionLimit},
    {"no_delivery_bound", Saboteur::kNoDeliveryBound},
    {"no_journal_bound", Saboteur::kNoJournalBound},
    {"secrets_first", Saboteur::kSecretsFirst},
    {"keep_older_head", Saboteur::kKeepOlderHead},
    {"lost_id_fails_all", Saboteur::kLostIdFailsAll},
    {"wake_by_pool", Saboteur::kWakeByPool},
    {"forgotten_turn_is_empty", Saboteur::kForgottenTurnIsEmpty},
    {"open_socket_file", Saboteur::kOpenSocketFile},
    {"show_memory", Saboteur::kShowMemory},
    {"trust_database", Saboteur::kTrustDatabase},
    {"no_connection_life", Saboteur::kNoConnectionLife},
    {"no_probe_bounds", Saboteur::kNoProbeBounds},
    {"no_renewal_bound", Saboteur::kNoRenewalBound},
    {"no_lease_row_bound", Saboteur::kNoLeaseRowBound},
    {"no_shared_check", Saboteur::kNoSharedCheck},
    {"no_queue_bound", Saboteur::kNoQueueBound},
    {"inflate", Saboteur::kInflate},
    {"forget_replies", Saboteur::kForgetReplies},
    {"no_peer_bound", Saboteur::kNoPeerBound},
    {"no_resume_bound", Saboteur::kNoResumeBound},
    {"no_page_bytes", Saboteur::kNoPageBytes},
    {"no_kept_bound", Saboteur::kNoKeptBound},
    {"no_fact_bound", Saboteur::kNoFactBound},
    {"no_watcher_limit", Saboteur::kNoWatcherLimit},
    {"no_missing_requests", Saboteur::kNoMissingRequests},
    {"need_space_to_start", Saboteur::kNeedSpaceToStart},
    {"repeat_under_new_epoch", Saboteur::kRepeatUnderNewEpoch},
    {"serve_anywhere", Saboteur::kServeAnywhere},
    {"one_step_behind", Saboteur::kOneStepBehind},
};

Saboteur FromEnvironment() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  const char* set = std::getenv("HOLDFAST_SABOTEUR");
  const std::string_view wanted = set == nullptr ? "" : set;
  for (const auto& [name, saboteur] : kNames) {
    if (name == wanted) return saboteur;
  }
  std::abort();
}

}  // namespace

Saboteur ActiveSaboteur() {
  static const Saboteur kActive = FromEnvironment();
  return kActive;
}

}  // namespace holdfast

#endif  // HOLDFAST_SABOTEURS
