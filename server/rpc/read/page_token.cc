#include "server/rpc/read/page_token.h"

#include "platform/encoding.h"
#include "platform/status_macros.h"
#include "server/rpc/convert/sealed_text.h"
#include "session/refusal.h"

#include "absl/time/time.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <set>

namespace holdfast {
namespace {

constexpr char kPageTokenField[] = "page_token";
constexpr uint64_t kPageTokenVersion = 1;

// What makes two questions the same: store, tenant, filters, direction, and what rows bring.
std::string QuestionSum(const StoreDescription& store, const ListQuery& query) {
  const std::set<Lifecycle> lifecycles(query.lifecycles.begin(), query.lifecycles.end());
  Encoder out;
  out.Text(store.store.value()).Text(query.tenant.value()).Text(query.project_root);
  out.Number(query.descending ? 1 : 0);
  for (const Lifecycle lifecycle : lifecycles) out.Number(static_cast<uint64_t>(lifecycle));
  const std::set<SessionKind> kinds(query.kinds.begin(), query.kinds.end());
  out.Text(query.group).Number(query.group_is_prefix ? 1 : 0);
  for (const SessionKind kind : kinds) out.Number(static_cast<uint64_t>(kind));
  // What rows bring is left out where it is nothing: tokens of former servers stay valid.
  if (query.attributes.empty() && query.owners.empty()) return ShortSum(out.bytes());
  out.Text("rows").Number(query.attributes.size());
  for (const std::string& name : query.attributes) out.Text(name);
  for (const std::string& owner : query.owners) out.Text(owner);
  return ShortSum(out.bytes());
}

// Nanoseconds, because a store may order by them; rows without a time come before all others.
constexpr int64_t kInfinitePast = std::numeric_limits<int64_t>::min();

uint64_t TimeNumber(absl::Time time) {
  return static_cast<uint64_t>(time == absl::InfinitePast() ? kInfinitePast
                                                            : absl::ToUnixNanos(time));
}

absl::Time TimeOf(uint64_t number) {
  const auto nanos = static_cast<int64_t>(number);
  return nanos == kInfinitePast ? absl::InfinitePast() : absl::FromUnixNanos(nanos);
}

std::string RequestSum(const StoreDescription& store, const ItemsRequest& request) {
  Encoder out;
  out.Text(request.method).Text(store.store.value());
  out.Text(request.key.tenant.value()).Text(request.key.session.value()).Text(request.filters);
  return ShortSum(out.bytes());
}

void PutListKey(const ListKey& key, Encoder& out) {
  out.Number(TimeNumber(key.created_at)).Text(key.id).Text(key.group);
}

ListKey TakeListKey(Decoder& in) {
  ListKey key{.created_at = TimeOf(in.Number()), .id = std::string(in.Text())};
  key.group = in.Text();
  return key;
}

// What a token is bound to.
struct Binding {
  const StoreDescription& store;
  std::string sum;  // of the request
};

// The position in a token that `binding` fits.
absl::StatusOr<std::string> Open(const Binding& binding, const std::string& token) {
  const std::optional<std::string> body = Unseal(token);
  if (!body) return InvalidField(kPageTokenField, "is not a page token");
  Decoder in(*body);
  const uint64_t version = in.Number();
  const std::string sum(in.Raw(kShortSumBytes));
  const uint64_t incarnation = in.Number();
  std::string position(in.Text());
  if (!in.Done() || version != kPageTokenVersion) {
    return InvalidField(kPageTokenField, "is not a page token");
  }
  if (sum != binding.sum) {
    return InvalidField(kPageTokenField, "belongs to another request or another store");
  }
  if (incarnation != binding.store.incarnation.value()) {
    return InvalidField(kPageTokenField, "restored");
  }
  return position;
}

std::string Close(const Binding& binding, const Encoder& position) {
  Encoder out;
  out.Number(kPageTokenVersion).Raw(binding.sum).Number(binding.store.incarnation.value());
  return Seal(out.Text(position.bytes()).bytes());
}

}  // namespace

std::string MakePageToken(const StoreDescription& store, const ListQuery& query,
                          const ListKey& last) {
  Encoder position;
  PutListKey(last, position);
  return Close({store, QuestionSum(store, query)}, position);
}

absl::StatusOr<ListKey> ReadPageToken(const StoreDescription& store, const ListQuery& query,
                                      const std::string& token) {
  ASSIGN_OR_RETURN(const std::string body, Open({store, QuestionSum(store, query)}, token));
  Decoder in(body);
  ListKey last = TakeListKey(in);
  // A number has one spelling too.
  if (!in.Done() || MakePageToken(store, query, last) != token) {
    return InvalidField(kPageTokenField, "is not a page token");
  }
  return last;
}

std::string MakeItemsToken(const StoreDescription& store, const ItemsRequest& request,
                           const PageEnd& end) {
  Encoder position;
  position.Text(end.uid.value()).Number(end.revision.value()).Number(end.number).Text(end.owner);
  return Close({store, RequestSum(store, request)}, position);
}

absl::StatusOr<PageEnd> ReadItemsToken(const StoreDescription& store, const ItemsRequest& request,
                                       const std::string& token) {
  ASSIGN_OR_RETURN(const std::string body, Open({store, RequestSum(store, request)}, token));
  Decoder in(body);
  const auto uid = SessionUid::Parse(in.Text());
  if (!uid) return InvalidField(kPageTokenField, "is not a page token");
  PageEnd end{.uid = *uid, .revision = Revision(in.Number()), .number = in.Number()};
  end.owner = in.Text();
  if (!in.Done() || MakeItemsToken(store, request, end) != token) {
    return InvalidField(kPageTokenField, "is not a page token");
  }
  return end;
}

std::string MakeGroupToken(const StoreDescription& store, const ItemsRequest& request,
                           const GroupEnd& end) {
  Encoder position;
  PutListKey(end.session, position);
  position.Text(end.uid.value_or(SessionUid()).value()).Text(end.key);
  return Close({store, RequestSum(store, request)}, position);
}

absl::StatusOr<GroupEnd> ReadGroupToken(const StoreDescription& store, const ItemsRequest& request,
                                        const std::string& token) {
  ASSIGN_OR_RETURN(const std::string body, Open({store, RequestSum(store, request)}, token));
  Decoder in(body);
  GroupEnd end{.session = TakeListKey(in), .uid = std::nullopt, .key = ""};
  const std::string_view uid = in.Text();
  end.uid = SessionUid::Parse(uid);
  end.key = in.Text();
  const bool is_valid = SessionId::Parse(end.session.id) && (end.uid || uid.empty());
  if (!in.Done() || !is_valid || MakeGroupToken(store, request, end) != token) {
    return InvalidField(kPageTokenField, "is not a page token");
  }
  return end;
}

}  // namespace holdfast
