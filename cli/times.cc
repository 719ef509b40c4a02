#include "cli/times.h"

#include "google/protobuf/util/time_util.h"

#include <cstdint>

namespace holdfast::cli {

std::string TimeText(const google::protobuf::Timestamp& time) {
  return google::protobuf::util::TimeUtil::ToString(time);
}

std::string DurationText(const google::protobuf::Duration& duration) {
  return google::protobuf::util::TimeUtil::ToString(duration);
}

std::string ShortTime(const google::protobuf::Timestamp& time) {
  google::protobuf::Timestamp whole = time;
  whole.set_nanos(0);
  return TimeText(whole);
}

std::string ShortDuration(absl::Duration duration) {
  const bool long_enough = absl::AbsDuration(duration) >= absl::Seconds(1);
  return absl::FormatDuration(
      absl::Trunc(duration, long_enough ? absl::Seconds(1) : absl::Milliseconds(1)));
}

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

void ToProto(absl::Duration duration, google::protobuf::Duration* proto) {
  absl::Duration rest;
  proto->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  proto->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

}  // namespace holdfast::cli
