// The first byte says what the rest is: a token as it comes; or the bytes behind one, which are
// given the form of a token.
#include "server/rpc/read/page_token.h"
#include "session/token.h"
#include "tests/fuzz/targets.h"

#include "absl/strings/escaping.h"

#include <string>

namespace holdfast::fuzz {
namespace {

void Lease(const std::string& text) {
  const auto token = LeaseToken::Parse(text);
  if (token) Require(token->ToText() == text, "one lease token has two texts");
}

void Page(const std::string& text) {
  const StoreDescription store{.kind = "fs",
                               .store = *StoreId::Parse("11111111-2222-4333-8444-555555555555"),
                               .incarnation = Incarnation(1)};
  const ListQuery query{.tenant = *TenantId::Parse("default")};
  const auto key = ReadPageToken(store, query, text);
  if (!key.ok()) return;
  const auto again = ReadPageToken(store, query, MakePageToken(store, query, *key));
  Require(again.ok() && again->id == key->id && again->created_at == key->created_at,
          "a page token changes when it is written back");
}

void Group(const std::string& text) {
  const StoreDescription store{.kind = "fs",
                               .store = *StoreId::Parse("11111111-2222-4333-8444-555555555555"),
                               .incarnation = Incarnation(1)};
  const ItemsRequest request{.method = "ReadItems",
                             .key = {.tenant = *TenantId::Parse("default"), .session = SessionId()},
                             .filters = ""};
  const auto end = ReadGroupToken(store, request, text);
  if (!end.ok()) return;
  Require(SessionId::Parse(end->session.id).has_value(), "a page token names no session");
  Require(MakeGroupToken(store, request, *end) == text, "one page token has two texts");
}

// A token of one list is none of another.
void AnyPage(const std::string& text) {
  Page(text);
  Group(text);
}

}  // namespace

void Tokens(std::string_view bytes) {
  if (bytes.empty()) return;
  const char mode = bytes.front();
  const std::string rest(bytes.substr(1));
  switch (static_cast<uint8_t>(mode) % 4) {
    case 0:
      return Lease(rest);
    case 1:
      return AnyPage(rest);
    case 2:
      return Lease("hf1." + absl::WebSafeBase64Escape(rest));
    default:
      return AnyPage(absl::WebSafeBase64Escape(rest));
  }
}

}  // namespace holdfast::fuzz
