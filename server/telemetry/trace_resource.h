// What the spans of this process say of it: the attributes of its resource.
#ifndef HOLDFAST_SERVER_TELEMETRY_TRACE_RESOURCE_H_
#define HOLDFAST_SERVER_TELEMETRY_TRACE_RESOURCE_H_

#include "platform/clock.h"
#include "server/config.h"
#include "server/telemetry/span.h"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// The attributes that `text` states as `key=value,key=value`, values percent-encoded as the
// variable OTEL_RESOURCE_ATTRIBUTES has them. nullopt when it is not of that form, is not UTF-8 or
// is beyond kResourceAttributes.
std::optional<TraceResource> ParseResourceAttributes(std::string_view text);

// service.version and service.instance.id (a UUID that `random` makes), then the attributes that
// `config` states, which must be valid, and service.name. Later ones replace earlier ones.
TraceResource ResourceOf(const TelemetryConfig& config, Random& random);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_TRACE_RESOURCE_H_
