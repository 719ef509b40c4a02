// The payload of notifications between servers. It names sessions by a hash of their names, since
// the names themselves would not fit.
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

// What one server notifies the others of: the buckets with new events.
struct Notice {
  int64_t writer = 0;  // the server that notifies
  Buckets touched;
};

// The payload of a notification, which has room for 8,000 bytes: for many buckets it says that it
// may be any.
std::string ToPayload(const Notice& notice);
// nullopt for a payload that ToPayload does not make.
std::optional<Notice> FromPayload(std::string_view payload);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_BUCKETS_H_
