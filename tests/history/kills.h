// What a record says of those that were killed while it was written.
#ifndef HOLDFAST_TESTS_HISTORY_KILLS_H_
#define HOLDFAST_TESTS_HISTORY_KILLS_H_

#include "tests/history/history.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::history {

// A server, or what all servers depend on, was killed.
struct Kill {
  int64_t at = 0;                  // by the history's clock
  std::optional<uint32_t> server;  // by its place in the list; none: what all of them depend on
};

// Whether a mutation had been sent to what was killed and had not come back.
bool MetAMutation(const History& history, const Kill& kill);

// How many mutations were never answered.
size_t Unanswered(const History& history);

// How many grants went to another client than the grant before of the same session.
size_t Takeovers(const History& history);

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_KILLS_H_
