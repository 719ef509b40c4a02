// The connection string that every connection of ours is opened with: the operator's, and what a
// connection has set from its first moment.
#ifndef HOLDFAST_STORE_POSTGRES_PG_KEYWORDS_H_
#define HOLDFAST_STORE_POSTGRES_PG_KEYWORDS_H_

#include "store-postgres/pg/connection.h"

#include "absl/status/statusor.h"

#include <string>
#include <utility>
#include <vector>

namespace holdfast::pg {

// Names and values, of which a later one wins.
struct Keywords {
  std::vector<std::string> names;
  std::vector<std::string> values;

  void Set(std::string name, std::string value) {
    names.push_back(std::move(name));
    values.push_back(std::move(value));
  }
};

// INVALID_ARGUMENT, in the driver's words, when the dsn cannot be read.
absl::StatusOr<Keywords> KeywordsOf(const ConnectOptions& options);

// The same as one string. It holds the password: for the driver alone.
absl::StatusOr<std::string> ConnectionString(const ConnectOptions& options);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_KEYWORDS_H_
