#include "server/rpc/page_token.h"

#include "server/rpc/sealed_text.h"
#include "session/encoding.h"
#include "session/refusal.h"

#include "absl/time/time.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <set>

namespace holdfast {
namespace {

constexpr char kField[] = "page_token";
constexpr uint64_t kVersion = 1;

// What makes two questions the same: store, tenant, filters and direction.
std::string QuestionSum(const StoreDescription& store, const ListQuery& query) {
  const std::set<Lifecycle> lifecycles(query.lifecycles.begin(), query.lifecycles.end());
  Encoder out;
  out.Text(store.store.value()).Text(query.tenant.value()).Text(query.project_root);
  out.Number(query.descending ? 1 : 0);
  for (const Lifecycle lifecycle : lifecycles) out.Number(static_cast<uint64_t>(lifecycle));
  return ShortSum(out.bytes());
}

// Nanoseconds, because a store may order by them; rows without a time stand before all others.
constexpr int64_t kInfinitePast = std::numeric_limits<int64_t>::min();

uint64_t TimeNumber(absl::Time time) {
  return static_cast<uint64_t>(time == absl::InfinitePast() ? kInfinitePast
                                                            : absl::ToUnixNanos(time));
}

absl::Time TimeOf(uint64_t number) {
  const auto nanos = static_cast<int64_t>(number);
  return nanos == kInfinitePast ? absl::InfinitePast() : absl::FromUnixNanos(nanos);
}

}  // namespace

std::string MakePageToken(const StoreDescription& store, const ListQuery& query,
                          const ListKey& last) {
  Encoder out;
  out.Number(kVersion).Raw(QuestionSum(store, query)).Number(store.incarnation.value());
  out.Number(TimeNumber(last.created_at)).Text(last.id);
  return Seal(out.bytes());
}

absl::StatusOr<ListKey> ReadPageToken(const StoreDescription& store, const ListQuery& query,
                                      const std::string& token) {
  const std::optional<std::string> body = Unseal(token);
  if (!body) return InvalidField(kField, "is not a page token");
  Decoder in(*body);
  const uint64_t version = in.Number();
  const std::string question(in.Raw(kShortSumBytes));
  const uint64_t incarnation = in.Number();
  ListKey last{.created_at = TimeOf(in.Number()), .id = std::string(in.Text())};
  if (!in.Done() || version != kVersion) return InvalidField(kField, "is not a page token");
  if (question != QuestionSum(store, query)) {
    return InvalidField(kField, "belongs to another question or another store");
  }
  if (incarnation != store.incarnation.value()) return InvalidField(kField, "restored");
  // A number has one spelling too.
  if (MakePageToken(store, query, last) != token) {
    return InvalidField(kField, "is not a page token");
  }
  return last;
}

}  // namespace holdfast
