#include "server/rpc/convert_fields.h"

namespace holdfast {
namespace {

// The wire numbers our enums from 1 in the same order (asserted below), 0 being "unspecified".
template <typename Domain, typename Wire>
absl::StatusOr<Domain> ReadEnum(std::string_view field, Wire value, int first, int last) {
  const int number = static_cast<int>(value);
  if (number < first || number > last) {
    return InvalidField(field, number == 0 ? "must be set" : "is not a value this server knows");
  }
  return static_cast<Domain>(number);
}

static_assert(static_cast<int>(Mode::kAllowlist) == pb::MODE_ALLOWLIST);
static_assert(static_cast<int>(TurnSource::kPlan) == pb::TURN_SOURCE_PLAN);
static_assert(static_cast<int>(TurnOutcome::kRecovered) == pb::TURN_OUTCOME_RECOVERED);
static_assert(static_cast<int>(CloseReason::kExplicit) == pb::CLOSE_REASON_EXPLICIT);
static_assert(static_cast<int>(CloseReason::kHalted) == pb::CLOSE_REASON_HALTED);
static_assert(static_cast<int>(DriftPolicy::kReject) == pb::DRIFT_POLICY_REJECT);
static_assert(static_cast<int>(JournalKind::kNote) == pb::JOURNAL_KIND_NOTE);
static_assert(static_cast<int>(Lifecycle::kClosed) + 1 == pb::LIFECYCLE_CLOSED);
static_assert(static_cast<int>(LeaseState::kExpired) + 1 == pb::LEASE_STATE_EXPIRED);

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
  return ReadEnum<Mode>(field, value, pb::MODE_ASK, pb::MODE_ALLOWLIST);
}
absl::StatusOr<TurnSource> ReadTurnSource(std::string_view field, pb::TurnSource value) {
  return ReadEnum<TurnSource>(field, value, pb::TURN_SOURCE_USER, pb::TURN_SOURCE_PLAN);
}
absl::StatusOr<TurnOutcome> ReadTurnOutcome(std::string_view field, pb::TurnOutcome value) {
  return ReadEnum<TurnOutcome>(field, value, pb::TURN_OUTCOME_OK, pb::TURN_OUTCOME_RECOVERED);
}
absl::StatusOr<CloseReason> ReadCloseReason(std::string_view field, pb::CloseReason value) {
  return ReadEnum<CloseReason>(field, value, pb::CLOSE_REASON_EXPLICIT, pb::CLOSE_REASON_HALTED);
}
absl::StatusOr<CancelScope> ReadCancelScope(std::string_view field, pb::CancelScope value) {
  return ReadEnum<CancelScope>(field, value, pb::CANCEL_SCOPE_SESSION, pb::CANCEL_SCOPE_TOOL);
}
absl::StatusOr<CancelReason> ReadCancelReason(std::string_view field, pb::CancelReason value) {
  return ReadEnum<CancelReason>(field, value, pb::CANCEL_REASON_USER, pb::CANCEL_REASON_CAP);
}
absl::StatusOr<DriftPolicy> ReadDriftPolicy(std::string_view field, pb::DriftPolicy value) {
  return ReadEnum<DriftPolicy>(field, value, pb::DRIFT_POLICY_MIGRATE, pb::DRIFT_POLICY_REJECT);
}
absl::StatusOr<JournalKind> ReadJournalKind(std::string_view field, pb::JournalKind value) {
  return ReadEnum<JournalKind>(field, value, pb::JOURNAL_KIND_SLOT_UPDATE, pb::JOURNAL_KIND_NOTE);
}
absl::StatusOr<Lifecycle> ReadLifecycle(std::string_view field, pb::Lifecycle value) {
  const auto number = ReadEnum<int>(field, value, pb::LIFECYCLE_IDLE, pb::LIFECYCLE_CLOSED);
  if (!number.ok()) return number.status();
  return static_cast<Lifecycle>(*number - 1);
}

pb::Mode ToWire(Mode value) { return static_cast<pb::Mode>(value); }
pb::TurnSource ToWire(TurnSource value) { return static_cast<pb::TurnSource>(value); }
pb::CloseReason ToWire(CloseReason value) { return static_cast<pb::CloseReason>(value); }
pb::CancelScope ToWire(CancelScope value) { return static_cast<pb::CancelScope>(value); }
pb::CancelReason ToWire(CancelReason value) { return static_cast<pb::CancelReason>(value); }
pb::DriftPolicy ToWire(DriftPolicy value) { return static_cast<pb::DriftPolicy>(value); }
pb::JournalKind ToWire(JournalKind value) { return static_cast<pb::JournalKind>(value); }
pb::Lifecycle ToWire(Lifecycle value) {
  return static_cast<pb::Lifecycle>(static_cast<int>(value) + 1);
}
pb::LeaseState ToWire(LeaseState value) {
  return static_cast<pb::LeaseState>(static_cast<int>(value) + 1);
}

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
