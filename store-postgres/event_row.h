// A row of holdfast.event: what one change says to watchers.
#ifndef HOLDFAST_STORE_POSTGRES_EVENT_ROW_H_
#define HOLDFAST_STORE_POSTGRES_EVENT_ROW_H_

#include "session/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::pg {

struct EventRow {
  // `events` follow each other without a gap, and there is one at least.
  explicit EventRow(const std::vector<Event>& events);

  int64_t last = 0;  // the number of the last one
  int64_t size = 0;  // of all in a page
  std::string records;
};

// The events of a row; nullopt when its bytes are not what was written.
std::optional<std::vector<Event>> ReadEvents(std::string_view records);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_EVENT_ROW_H_
