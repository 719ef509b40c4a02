#include "server/database_options.h"

#include "platform/status_macros.h"
#include "server/secrets.h"

namespace holdfast {

absl::StatusOr<pg::ConnectOptions> DatabaseOptionsOf(const StoreConfig& config) {
  pg::ConnectOptions options{.dsn = config.dsn};
  if (!config.password.empty()) {
    ASSIGN_OR_RETURN(const Secret password, ReadPassword(config.password));
    options.password = password.Reveal();
  }
  return options;
}

}  // namespace holdfast
