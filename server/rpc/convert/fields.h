// Single fields between the wire and the domain: ids, tokens, enums, times. A field that is not
// valid is INVALID_FIELD with its path.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_FIELDS_H_
#define HOLDFAST_SERVER_RPC_CONVERT_FIELDS_H_

#include "holdfast/v1/compaction.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/lifecycle.h"
#include "session/model.h"
#include "session/refusal.h"
#include "session/token.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

namespace pb = ::holdfast::v1;

// An id that must be there.
template <typename IdType>
absl::StatusOr<IdType> ReadId(std::string_view field, const std::string& text);
extern template absl::StatusOr<SessionId> ReadId(std::string_view, const std::string&);
extern template absl::StatusOr<RequestId> ReadId(std::string_view, const std::string&);
extern template absl::StatusOr<StoreId> ReadId(std::string_view, const std::string&);
extern template absl::StatusOr<SessionUid> ReadId(std::string_view, const std::string&);

// An id that may be left out.
template <typename IdType>
absl::StatusOr<std::optional<IdType>> ReadOptionalId(std::string_view field,
                                                     const std::string& text) {
  if (text.empty()) return std::optional<IdType>();
  absl::StatusOr<IdType> id = ReadId<IdType>(field, text);
  if (!id.ok()) return id.status();
  return std::optional<IdType>(*std::move(id));
}

// The session of the id that a request means, where it says so.
template <typename Request>
absl::StatusOr<std::optional<SessionUid>> ReadSessionUid(const Request& request) {
  return ReadOptionalId<SessionUid>("session_uid", request.session_uid());
}

// A number for which 0 means that it was left out.
template <typename NumberType>
std::optional<NumberType> ReadOptionalNumber(uint64_t value) {
  if (value == 0) return std::nullopt;
  return NumberType(value);
}

// Empty is none; a text that no server made is INVALID_FIELD.
absl::StatusOr<std::optional<LeaseToken>> ReadToken(std::string_view field,
                                                    const std::string& text);

// A duration, or `otherwise` when it was left out.
absl::StatusOr<absl::Duration> ReadDuration(std::string_view field, bool present,
                                            const google::protobuf::Duration& value,
                                            absl::Duration otherwise);

// Enums: the unspecified value and one that this server does not know are refused.
absl::StatusOr<Mode> ReadMode(std::string_view field, pb::Mode value);
absl::StatusOr<SessionKind> ReadKindOfSession(std::string_view field, pb::SessionKind value);
absl::StatusOr<CheckpointKind> ReadCheckpointKind(std::string_view field, pb::CheckpointKind value);
absl::StatusOr<CheckpointStatus> ReadCheckpointStatus(std::string_view field,
                                                      pb::CheckpointStatus value);
absl::StatusOr<CompactionTrigger> ReadCompactionTrigger(std::string_view field,
                                                        pb::CompactionTrigger value);
absl::StatusOr<TurnSource> ReadTurnSource(std::string_view field, pb::TurnSource value);
absl::StatusOr<TurnOutcome> ReadTurnOutcome(std::string_view field, pb::TurnOutcome value);
absl::StatusOr<CloseReason> ReadCloseReason(std::string_view field, pb::CloseReason value);
absl::StatusOr<CancelScope> ReadCancelScope(std::string_view field, pb::CancelScope value);
absl::StatusOr<CancelReason> ReadCancelReason(std::string_view field, pb::CancelReason value);
absl::StatusOr<DriftPolicy> ReadDriftPolicy(std::string_view field, pb::DriftPolicy value);
absl::StatusOr<JournalKind> ReadJournalKind(std::string_view field, pb::JournalKind value);
absl::StatusOr<Method> ReadMethod(std::string_view field, pb::Method value);
absl::StatusOr<Lifecycle> ReadLifecycle(std::string_view field, pb::Lifecycle value);

pb::Mode ToWire(Mode value);
pb::SessionKind ToWire(SessionKind value);
pb::CheckpointKind ToWire(CheckpointKind value);
pb::CheckpointStatus ToWire(CheckpointStatus value);
pb::TurnSource ToWire(TurnSource value);
pb::CloseReason ToWire(CloseReason value);
pb::CancelScope ToWire(CancelScope value);
pb::CancelReason ToWire(CancelReason value);
pb::DriftPolicy ToWire(DriftPolicy value);
pb::JournalKind ToWire(JournalKind value);
pb::Lifecycle ToWire(Lifecycle value);
pb::LeaseState ToWire(LeaseState value);
google::protobuf::Duration ToWire(absl::Duration value);
google::protobuf::Timestamp ToWire(absl::Time value);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_FIELDS_H_
