// What the statements of reads have in common.
#ifndef HOLDFAST_STORE_POSTGRES_READ_PARAMS_H_
#define HOLDFAST_STORE_POSTGRES_READ_PARAMS_H_

#include "session/ids.h"
#include "store-postgres/pg/params.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace holdfast::pg {

// Reads of one page: the first goes by the cached head, and a further one by the head it brought.
inline constexpr int kLooks = 3;
inline int64_t Clamped(uint64_t value) {
  return static_cast<int64_t>(
      std::min<uint64_t>(value, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
}

inline Params KeyParams(const SessionKey& key) {
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  return params;
}

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_READ_PARAMS_H_
