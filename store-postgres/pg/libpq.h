// What several sources do with results of libpq: own parsed connection options, and read messages.
#ifndef HOLDFAST_STORE_POSTGRES_PG_LIBPQ_H_
#define HOLDFAST_STORE_POSTGRES_PG_LIBPQ_H_

#include <libpq-fe.h>
#include <memory>
#include <string>

namespace holdfast::pg {

struct FreeConninfo {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

// The options of a connection string, of which the last one has no keyword. Null when libpq could
// not parse the string, or has no memory.
using ConninfoOptions = std::unique_ptr<PQconninfoOption, FreeConninfo>;

// A message of libpq without the line break that it ends with; empty for a null.
inline std::string Trimmed(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_LIBPQ_H_
