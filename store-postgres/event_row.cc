#include "store-postgres/event_row.h"

#include "session/codec/records.h"
#include "session/encoding.h"
#include "store-postgres/change_rows.h"

#include <cstddef>
#include <utility>

namespace holdfast::pg {

EventRow::EventRow(const std::vector<Event>& events) : last(Signed(events.back().seq)) {
  Encoder out;
  out.Number(events.size());
  for (const Event& event : events) {
    out.Text(EncodeEvent(event));
    size += SizeOf(event);
  }
  records = out.Take();
}

std::optional<std::vector<Event>> ReadEvents(std::string_view records) {
  Decoder in(records);
  std::vector<Event> events;
  for (size_t left = in.Count(); left > 0; --left) {
    std::optional<Event> event = DecodeEvent(in.Text());
    if (!event) return std::nullopt;
    events.push_back(*std::move(event));
  }
  if (!in.Done() || events.empty()) return std::nullopt;
  return events;
}

}  // namespace holdfast::pg
