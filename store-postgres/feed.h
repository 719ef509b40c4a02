// What other servers have committed: looked for once a second, whatever else tells of it.
#ifndef HOLDFAST_STORE_POSTGRES_FEED_H_
#define HOLDFAST_STORE_POSTGRES_FEED_H_

#include "session/event_bell.h"
#include "store-postgres/database.h"

#include "absl/status/status.h"

#include <stop_token>
#include <string>
#include <thread>

namespace holdfast::pg {

// Rings the bell for each session that got events from another server. Own commits ring it
// themselves. While the database does not answer nothing is lost: the next look begins where the
// last one that was answered ended.
class Feed {
 public:
  // Both outlive it.
  Feed(const Database& database, EventBell& bell) : database_(database), bell_(bell) {}

  // Notes where the feed stands, and looks from then on. Called once.
  absl::Status Start();
  void Stop();

 private:
  void Run(const std::stop_token& stop);
  absl::Status Look();

  const Database& database_;
  EventBell& bell_;
  // Every transaction below this one had ended at the last look.
  std::string horizon_;
  std::jthread thread_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_FEED_H_
