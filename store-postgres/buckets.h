// What servers tell each other of: sessions by a hash of their names, since the names themselves
// would not fit.
#ifndef HOLDFAST_STORE_POSTGRES_BUCKETS_H_
#define HOLDFAST_STORE_POSTGRES_BUCKETS_H_

#include "session/ids.h"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::pg {

inline constexpr size_t kBuckets = 4096;
using Buckets = std::bitset<kBuckets>;

// The same on every server, whatever built it.
size_t BucketOf(const SessionKey& key);

// What one server tells the others: where there are new events.
struct Notice {
  int64_t writer = 0;  // who tells
  Buckets touched;
};

// As the payload of a notification, which has room for 8,000 bytes: of many buckets it says that it
// may be any.
std::string ToPayload(const Notice& notice);
// nullopt for what ToPayload does not say.
std::optional<Notice> FromPayload(std::string_view payload);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_BUCKETS_H_
