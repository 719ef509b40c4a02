#include "server/rpc/convert/fields.h"

namespace holdfast {
namespace {

// The wire numbers our enums in the same order; 0 is "unspecified" there. A row compiles only while
// both ends are the same, and no enum is converted without its row.
template <typename DomainEnum, DomainEnum first, DomainEnum last, typename WireEnum,
          WireEnum wire_first, WireEnum wire_last, WireEnum wire_max>
struct Row {
  using Wire = WireEnum;
  static constexpr int kFirst = wire_first;
  static constexpr int kLast = wire_last;
  // What a number of the domain is less than that of the wire.
  static constexpr int kBehind = kFirst - static_cast<int>(first);
  static_assert(kFirst == 1);
  static_assert(kLast == static_cast<int>(last) + kBehind);
  static_assert(wire_last == wire_max);
};

template <typename Domain>
struct RowOfEnum;
template <>
struct RowOfEnum<Mode> : Row<Mode, Mode::kAsk, Mode::kAllowlist, pb::Mode, pb::MODE_ASK,
                             pb::MODE_ALLOWLIST, pb::Mode_MAX> {};
template <>
struct RowOfEnum<SessionKind>
    : Row<SessionKind, SessionKind::kLeased, SessionKind::kOpen, pb::SessionKind,
          pb::SESSION_KIND_LEASED, pb::SESSION_KIND_OPEN, pb::SessionKind_MAX> {};
template <>
struct RowOfEnum<TurnSource> : Row<TurnSource, TurnSource::kUser, TurnSource::kPlan, pb::TurnSource,
                                   pb::TURN_SOURCE_USER, pb::TURN_SOURCE_PLAN, pb::TurnSource_MAX> {
};
template <>
struct RowOfEnum<TurnOutcome>
    : Row<TurnOutcome, TurnOutcome::kOk, TurnOutcome::kRecovered, pb::TurnOutcome,
          pb::TURN_OUTCOME_OK, pb::TURN_OUTCOME_RECOVERED, pb::TurnOutcome_MAX> {};
template <>
struct RowOfEnum<CloseReason>
    : Row<CloseReason, CloseReason::kExplicit, CloseReason::kHalted, pb::CloseReason,
          pb::CLOSE_REASON_EXPLICIT, pb::CLOSE_REASON_HALTED, pb::CloseReason_MAX> {};
template <>
struct RowOfEnum<CancelScope>
    : Row<CancelScope, CancelScope::kSession, CancelScope::kTool, pb::CancelScope,
          pb::CANCEL_SCOPE_SESSION, pb::CANCEL_SCOPE_TOOL, pb::CancelScope_MAX> {};
template <>
struct RowOfEnum<CancelReason>
    : Row<CancelReason, CancelReason::kUser, CancelReason::kCap, pb::CancelReason,
          pb::CANCEL_REASON_USER, pb::CANCEL_REASON_CAP, pb::CancelReason_MAX> {};
template <>
struct RowOfEnum<DriftPolicy>
    : Row<DriftPolicy, DriftPolicy::kMigrate, DriftPolicy::kReject, pb::DriftPolicy,
          pb::DRIFT_POLICY_MIGRATE, pb::DRIFT_POLICY_REJECT, pb::DriftPolicy_MAX> {};
template <>
struct RowOfEnum<JournalKind>
    : Row<JournalKind, JournalKind::kSlotUpdate, JournalKind::kNote, pb::JournalKind,
          pb::JOURNAL_KIND_SLOT_UPDATE, pb::JOURNAL_KIND_NOTE, pb::JournalKind_MAX> {};
template <>
struct RowOfEnum<CompactionTrigger>
    : Row<CompactionTrigger, CompactionTrigger::kAuto, CompactionTrigger::kManual,
          pb::CompactionTrigger, pb::COMPACTION_TRIGGER_AUTO, pb::COMPACTION_TRIGGER_MANUAL,
          pb::CompactionTrigger_MAX> {};
template <>
struct RowOfEnum<CheckpointKind>
    : Row<CheckpointKind, CheckpointKind::kManual, CheckpointKind::kInterrupted, pb::CheckpointKind,
          pb::CHECKPOINT_KIND_MANUAL, pb::CHECKPOINT_KIND_INTERRUPTED, pb::CheckpointKind_MAX> {};
template <>
struct RowOfEnum<CheckpointStatus>
    : Row<CheckpointStatus, CheckpointStatus::kValid, CheckpointStatus::kRejected,
          pb::CheckpointStatus, pb::CHECKPOINT_STATUS_VALID, pb::CHECKPOINT_STATUS_REJECTED,
          pb::CheckpointStatus_MAX> {};
template <>
struct RowOfEnum<Method>
    : Row<Method, Method::kCreate, kLastMethod, pb::Method, pb::METHOD_CREATE_SESSION,
          pb::METHOD_DELETE_CHECKPOINT, pb::Method_MAX> {};
template <>
struct RowOfEnum<Lifecycle> : Row<Lifecycle, Lifecycle::kIdle, Lifecycle::kClosed, pb::Lifecycle,
                                  pb::LIFECYCLE_IDLE, pb::LIFECYCLE_CLOSED, pb::Lifecycle_MAX> {};
template <>
struct RowOfEnum<LeaseState>
    : Row<LeaseState, LeaseState::kFree, LeaseState::kExpired, pb::LeaseState, pb::LEASE_STATE_FREE,
          pb::LEASE_STATE_EXPIRED, pb::LeaseState_MAX> {};

template <typename Domain>
absl::StatusOr<Domain> ReadEnum(std::string_view field, typename RowOfEnum<Domain>::Wire value) {
  using Row = RowOfEnum<Domain>;
  const int number = static_cast<int>(value);
  if (number < Row::kFirst || number > Row::kLast) {
    return InvalidField(field, number == 0 ? "must be set" : "is not a value this server knows");
  }
  return static_cast<Domain>(number - Row::kBehind);
}

template <typename Domain>
auto WriteEnum(Domain value) {
  using Row = RowOfEnum<Domain>;
  return static_cast<typename Row::Wire>(static_cast<int>(value) + Row::kBehind);
}

template <typename Tag>
std::string_view WhyOf(const Id<Tag>&) {
  return Tag::Why();
}

// What google.protobuf.Duration allows.
constexpr int64_t kDurationSecondsMost = 315'576'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

template <typename IdType>
absl::StatusOr<IdType> ReadId(std::string_view field, const std::string& text) {
  std::optional<IdType> id = IdType::Parse(text);
  if (!id) return InvalidField(field, text.empty() ? "must be set" : WhyOf(IdType()));
  return *std::move(id);
}
template absl::StatusOr<SessionId> ReadId(std::string_view, const std::string&);
template absl::StatusOr<RequestId> ReadId(std::string_view, const std::string&);
template absl::StatusOr<StoreId> ReadId(std::string_view, const std::string&);
template absl::StatusOr<SessionUid> ReadId(std::string_view, const std::string&);

absl::StatusOr<std::optional<LeaseToken>> ReadToken(std::string_view field,
                                                    const std::string& text) {
  if (text.empty()) return std::optional<LeaseToken>();
  std::optional<LeaseToken> token = LeaseToken::Parse(text);
  if (!token) return InvalidField(field, "is not a lease token");
  return token;
}

absl::StatusOr<absl::Duration> ReadDuration(std::string_view field, bool present,
                                            const google::protobuf::Duration& value,
                                            absl::Duration otherwise) {
  if (!present) return otherwise;
  const int64_t seconds = value.seconds();
  const int64_t nanos = value.nanos();
  const bool mixed = (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0);
  if (seconds > kDurationSecondsMost || seconds < -kDurationSecondsMost ||
      nanos >= kNanosPerSecond || nanos <= -kNanosPerSecond || mixed) {
    return InvalidField(field, "is not a duration");
  }
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

absl::StatusOr<Mode> ReadMode(std::string_view field, pb::Mode value) {
  return ReadEnum<Mode>(field, value);
}
absl::StatusOr<SessionKind> ReadKindOfSession(std::string_view field, pb::SessionKind value) {
  return ReadEnum<SessionKind>(field, value);
}
absl::StatusOr<CheckpointKind> ReadCheckpointKind(std::string_view field,
                                                  pb::CheckpointKind value) {
  return ReadEnum<CheckpointKind>(field, value);
}
absl::StatusOr<CheckpointStatus> ReadCheckpointStatus(std::string_view field,
                                                      pb::CheckpointStatus value) {
  return ReadEnum<CheckpointStatus>(field, value);
}
absl::StatusOr<CompactionTrigger> ReadCompactionTrigger(std::string_view field,
                                                        pb::CompactionTrigger value) {
  return ReadEnum<CompactionTrigger>(field, value);
}
absl::StatusOr<TurnSource> ReadTurnSource(std::string_view field, pb::TurnSource value) {
  return ReadEnum<TurnSource>(field, value);
}
absl::StatusOr<TurnOutcome> ReadTurnOutcome(std::string_view field, pb::TurnOutcome value) {
  return ReadEnum<TurnOutcome>(field, value);
}
absl::StatusOr<CloseReason> ReadCloseReason(std::string_view field, pb::CloseReason value) {
  return ReadEnum<CloseReason>(field, value);
}
absl::StatusOr<CancelScope> ReadCancelScope(std::string_view field, pb::CancelScope value) {
  return ReadEnum<CancelScope>(field, value);
}
absl::StatusOr<CancelReason> ReadCancelReason(std::string_view field, pb::CancelReason value) {
  return ReadEnum<CancelReason>(field, value);
}
absl::StatusOr<DriftPolicy> ReadDriftPolicy(std::string_view field, pb::DriftPolicy value) {
  return ReadEnum<DriftPolicy>(field, value);
}
absl::StatusOr<JournalKind> ReadJournalKind(std::string_view field, pb::JournalKind value) {
  return ReadEnum<JournalKind>(field, value);
}
absl::StatusOr<Method> ReadMethod(std::string_view field, pb::Method value) {
  return ReadEnum<Method>(field, value);
}
absl::StatusOr<Lifecycle> ReadLifecycle(std::string_view field, pb::Lifecycle value) {
  return ReadEnum<Lifecycle>(field, value);
}

pb::Mode ToWire(Mode value) { return WriteEnum(value); }
pb::SessionKind ToWire(SessionKind value) { return WriteEnum(value); }
pb::CheckpointKind ToWire(CheckpointKind value) { return WriteEnum(value); }
pb::CheckpointStatus ToWire(CheckpointStatus value) { return WriteEnum(value); }
pb::TurnSource ToWire(TurnSource value) { return WriteEnum(value); }
pb::CloseReason ToWire(CloseReason value) { return WriteEnum(value); }
pb::CancelScope ToWire(CancelScope value) { return WriteEnum(value); }
pb::CancelReason ToWire(CancelReason value) { return WriteEnum(value); }
pb::DriftPolicy ToWire(DriftPolicy value) { return WriteEnum(value); }
pb::JournalKind ToWire(JournalKind value) { return WriteEnum(value); }
pb::Lifecycle ToWire(Lifecycle value) { return WriteEnum(value); }
pb::LeaseState ToWire(LeaseState value) { return WriteEnum(value); }

google::protobuf::Duration ToWire(absl::Duration value) {
  google::protobuf::Duration out;
  absl::Duration rest = value;
  out.set_seconds(absl::IDivDuration(value, absl::Seconds(1), &rest));
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return out;
}

google::protobuf::Timestamp ToWire(absl::Time value) {
  google::protobuf::Timestamp out;
  const int64_t seconds = absl::ToUnixSeconds(value);
  out.set_seconds(seconds);
  out.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(value - absl::FromUnixSeconds(seconds))));
  return out;
}

}  // namespace holdfast
