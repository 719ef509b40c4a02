#include "store-postgres/admin/connection.h"

#include "platform/scoped_blocking_call.h"
#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-postgres/pg/keywords.h"

#include "absl/strings/str_cat.h"

#include <exception>
#include <pqxx/pqxx>
#include <string_view>
#include <utility>

namespace holdfast::pg {
namespace {

// What the server says beside its answers; nothing of it is printed.
class Notices final : public pqxx::errorhandler {
 public:
  explicit Notices(pqxx::connection_base& connection) : errorhandler(connection) {}
  bool operator()(const char words[]) noexcept override {
    last_ = words;
    return false;
  }
  // The last one since the last call; empty if there was none.
  std::string Take() { return std::exchange(last_, ""); }

 private:
  std::string last_;
};

// The driver ends its messages with a line break.
std::string WithoutLineBreak(std::string_view text) {
  return std::string(text.substr(0, text.find_last_not_of("\n ") + 1));
}

// A command that is run again sees what is there.
Refusal InDoubt(const std::string& what, std::string_view why) {
  return StoreUnavailable(
      absl::StrCat(what, ": the database did not confirm a commit, so its outcome is unknown: ",
                   "run the command again (", WithoutLineBreak(why), ")"),
      Fate::kUnknown);
}

// libpqxx would open a broken connection again at the next statement, without the advisory lock.
void ForbidReopening(pqxx::connection_base& connection) {
#pragma GCC diagnostic push
// libpqxx 7 never reopens a connection, and the function that forbids it is deprecated until then.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection.inhibit_reactivation(true);
#pragma GCC diagnostic pop
}

}  // namespace

struct AdminConnection::Driver {
  explicit Driver(const std::string& words) : connection(words), notices(connection) {
    ForbidReopening(connection);
    // The details of an error would repeat the values of rows.
    connection.set_verbosity(pqxx::connection_base::terse);
  }

  pqxx::connection connection;
  Notices notices;
};

absl::StatusOr<std::unique_ptr<AdminConnection>> AdminConnection::Open(
    const ConnectOptions& options) {
  ASSIGN_OR_RETURN(const std::string words, ConnectionString(options));
  const ScopedBlockingCall blocking;
  try {
    return std::make_unique<AdminConnection>(std::make_unique<Driver>(words));
  } catch (const pqxx::pqxx_exception& error) {
    return absl::UnavailableError(WithoutLineBreak(error.base().what()));
  }
}

AdminConnection::AdminConnection(std::unique_ptr<Driver> driver)
    : driver_(std::move(driver)),
      peer_(absl::StrCat(driver_->connection.hostname(), ":", driver_->connection.port())) {}

AdminConnection::~AdminConnection() = default;

pqxx::connection_base& AdminConnection::driver() const { return driver_->connection; }

absl::Status AdminConnection::Do(const std::string& what,
                                 const std::function<absl::Status()>& act) {
  const ScopedBlockingCall blocking;
  try {
    return act();
  } catch (const pqxx::in_doubt_error& error) {
    return InDoubt(what, driver_->notices.Take());
  } catch (const pqxx::statement_completion_unknown& error) {
    return InDoubt(what, error.what());
  } catch (const pqxx::pqxx_exception& error) {
    // Of a connection that broke libpqxx may report only what it could not do afterwards.
    const char* const broke = driver_->connection.is_open() ? "" : "the connection broke: ";
    return StoreUnavailable(absl::StrCat(what, ": ", broke, WithoutLineBreak(error.base().what())),
                            Fate::kNoEffect);
  }
}

absl::Status AdminConnection::Commit(const std::string& what, pqxx::transaction_base& transaction) {
  driver_->notices.Take();
  transaction.commit();
  const std::string notice = driver_->notices.Take();
  return notice.empty() ? absl::OkStatus() : InDoubt(what, notice).ToStatus();
}

}  // namespace holdfast::pg
