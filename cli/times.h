// Times and durations of the wire as text.
#ifndef HOLDFAST_CLI_TIMES_H_
#define HOLDFAST_CLI_TIMES_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

#include <string>

namespace holdfast::cli {

// RFC 3339 in UTC, for example 2026-01-31T09:30:00.25Z.
std::string TimeText(const google::protobuf::Timestamp& time);

// Seconds as protobuf's JSON writes them, for example 59.5s.
std::string DurationText(const google::protobuf::Duration& duration);

// The same for a person, without fractions of a second: 2026-01-31T09:30:00Z.
std::string ShortTime(const google::protobuf::Timestamp& time);

// A duration for a person: whole seconds, or milliseconds below one: 1m5s, 250ms.
std::string ShortDuration(absl::Duration duration);

absl::Duration FromProto(const google::protobuf::Duration& duration);
void ToProto(absl::Duration duration, google::protobuf::Duration* proto);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_TIMES_H_
