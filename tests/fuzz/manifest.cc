// Bytes as manifest.json. What is taken has the shape that the store writes.
#include "store-fs/manifest.h"

#include "session/refusal.h"
#include "tests/fuzz/targets.h"

namespace holdfast::fuzz {
namespace {

// Of the golden session, whose manifest is a seed.
constexpr char kStoreKey[] = "\"storeId\": \"";

StoreId StoreIn(std::string_view text) {
  constexpr size_t kUuidBytes = 36;
  const size_t at = text.find(kStoreKey);
  const auto named = at == std::string_view::npos
                         ? std::nullopt
                         : StoreId::Parse(text.substr(at + sizeof(kStoreKey) - 1, kUuidBytes));
  return named.value_or(*StoreId::Parse("11111111-2222-4333-8444-555555555555"));
}

}  // namespace

void Manifest(std::string_view bytes) {
  const SessionKey key{*TenantId::Parse("default"), *SessionId::Parse("beta")};
  const StoreId store = StoreIn(bytes);
  const auto manifest = fs::DecodeManifest(bytes, key, store);
  if (!manifest.ok()) {
    Require(Is(manifest.status(), Reason::kManifestDrift) ||
                Is(manifest.status(), Reason::kResumeMismatch),
            "a manifest is refused for another reason");
    return;
  }
  const auto again = fs::DecodeManifest(fs::EncodeManifest(*manifest, Head()), key, store);
  Require(again.ok() && again->salt == manifest->salt && again->file == manifest->file,
          "a manifest changes when it is written back");
}

}  // namespace holdfast::fuzz
