#include "store-postgres/listener.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-postgres/migrations.h"
#include "store-postgres/notifier.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

// How often a silent connection is asked whether it is still there.
constexpr absl::Duration kSilence = absl::Seconds(30);

constexpr Statement kTakeUp = {"take_up", "SELECT holdfast.take_up($1, $2)::text"};
constexpr Statement kServe = {"serve", "SELECT holdfast.serve($1, $2)::text"};
constexpr Statement kLeave = {"leave", "SELECT holdfast.leave($1)::text"};
constexpr Statement kStillThere = {"still_there", "SELECT 1"};

}  // namespace

absl::Status Listener::Start() {
  ASSIGN_OR_RETURN(connection_, Enter(kTakeUp));
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  return absl::OkStatus();
}

void Listener::Stop() {
  thread_.request_stop();
  thread_ = std::jthread();
  if (connection_ != nullptr) Leave();
}

absl::StatusOr<std::unique_ptr<Connection>> Listener::Enter(const Statement& entry) const {
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, database_.pool.Apart("listener"));
  std::optional<Failure> failure = connection->Try("LISTEN holdfast");
  if (!failure) {
    Answer entered = connection->Run(entry, Params().Int(database_.writer).Int4(NeededSchema()));
    if (auto* const failed = std::get_if<Failure>(&entered)) failure = std::move(*failed);
  }
  if (!failure) return connection;
  database_.Report(entry, *failure);
  failure->effect = Effect::kNone;  // it goes with the connection
  return RefusalFor(*failure);
}

void Listener::Run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { waker_.Wake(); });
  while (!stop.stop_requested()) {
    if (guard_.Run([&] { ListenOrEnter(stop); })) continue;
    connection_.reset();
    waker_.Await(kNotifyRetry);
  }
}

void Listener::ListenOrEnter(const std::stop_token& stop) {
  if (connection_ != nullptr) {
    if (!Listen(stop)) connection_.reset();
    return;
  }
  auto entered = Enter(kServe);
  if (entered.ok()) {
    connection_ = *std::move(entered);
    feed_.Poke();  // for notifications that came while there was no listener
  } else {
    waker_.Await(kNotifyRetry);
  }
}

bool Listener::Listen(const std::stop_token& stop) {
  const auto payloads = connection_->AwaitNotifications(waker_, kSilence);
  if (!payloads.ok() || connection_->timeline() < database_.pool.newest_timeline()) return false;
  const auto concerns = [this](const std::string& payload) { return Concerns(payload); };
  if (std::ranges::any_of(*payloads, concerns)) feed_.Poke();
  if (!payloads->empty() || stop.stop_requested()) return true;
  return std::holds_alternative<Rows>(connection_->Run(kStillThere, Params()));
}

bool Listener::Concerns(const std::string& payload) const {
  const std::optional<Notice> notice = FromPayload(payload);
  if (!notice) return true;  // the payload of a newer server
  return notice->writer != database_.writer &&
         interest_.In(notice->touched, database_.clock.SinceBoot());
}

void Listener::Leave() {
  const Answer left = connection_->Run(kLeave, Params().Int(database_.writer));
  // A row that stays is removed when the next server starts.
  if (const auto* const failure = std::get_if<Failure>(&left)) database_.Report(kLeave, *failure);
  connection_.reset();
}

}  // namespace holdfast::pg
