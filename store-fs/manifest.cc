#include "store-fs/manifest.h"

#include "platform/status_macros.h"
#include "session/names.h"
#include "session/refusal.h"
#include "store-fs/bounds.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

namespace holdfast::fs {
namespace {

using Json = nlohmann::json;  // an ordered map: keys come out sorted

constexpr int kManifestFormat = 1;
constexpr char kStamp[] = "holdfast";
constexpr char kEight[] = "manifest";
constexpr char kStampChecksum[] = "checksum";

std::string Hex(std::string_view bytes) { return absl::BytesToHexString(std::string(bytes)); }

std::string HexOf(const Digest& digest) { return Hex(View(digest)); }

// Numbers of 64 bits are texts, for not every reader of JSON keeps them exact.
std::string Salt(uint64_t salt) { return std::to_string(salt); }

Json EightKeys(const Manifest& manifest, const Head& head) {
  Json eight = {
      {"sessionId", manifest.key.session.value()},
      {"storeId", manifest.store.value()},
      {"projectRoot", head.project_root},
      {"mode", Name(head.mode)},
      {"createdAt", absl::ToUnixMillis(head.created_at)},
      {"updatedAt", absl::ToUnixMillis(head.updated_at)},
      {"messages",
       {{"generation", head.generation.value()},
        {"count", head.messages.value()},
        {"digest", HexOf(head.history)}}},
  };
  if (head.sm) {
    eight["smState"] = {{"smExtId", head.sm->ext_id}, {"stateSlotRef", head.sm->slot_ref}};
  }
  return eight;
}

std::string RenderManifest(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ManifestChecksum(Json json) {
  json[kStamp][kStampChecksum] = "";
  return HexOf(Sha256(RenderManifest(json)));
}

absl::Status Drift(std::string_view why) {
  return Refusal(Reason::kManifestDrift, "the session's manifest.json is not what this store wrote")
      .With("why", why);
}

bool HasExactly(const Json& object, std::vector<std::string> keys, const char* optional_key) {
  if (!object.is_object()) return false;
  size_t known = 0;
  for (const auto& [key, value] : object.items()) {
    const bool wanted = std::ranges::find(keys, key) != keys.end();
    if (!wanted && key != optional_key) return false;
    if (wanted) ++known;
  }
  return known == keys.size();
}

std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<uint64_t> NumberAt(const Json& object, const char* key) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(TextAt(object, key), &value)) return std::nullopt;
  return value;
}

// How deep a manifest is: stamp and eight keys, the history among these, and its numbers.
constexpr int kDepth = 3;

// Skips deeper values while it parses. A manifest that another program wrote may be nested so deep
// that copying it takes the stack, and rendering it a gigabyte of indentation.
bool IsShallow(int depth, Json::parse_event_t /*event*/, const Json& /*value*/) {
  return depth <= kDepth;
}

bool RightShape(const Json& json) {
  return HasExactly(json, {kStamp, kEight}, "") &&
         HasExactly(json[kStamp],
                    {"format", "tenant", "session_uid", "revision", "generation", "journal_salt",
                     "previous_salt", "head_digest", kStampChecksum},
                    "") &&
         HasExactly(
             json[kEight],
             {"messages", "mode", "projectRoot", "sessionId", "storeId", "createdAt", "updatedAt"},
             "smState");
}

absl::StatusOr<Manifest> FromJson(const Json& json, const SessionKey& key, const StoreId& store) {
  const Json& stamp = json[kStamp];
  if (!stamp["format"].is_number_integer() || stamp["format"].get<int64_t>() != kManifestFormat) {
    return Drift("another format");
  }
  if (TextAt(json[kEight], "sessionId") != key.session.value()) return Drift("another session id");
  if (TextAt(stamp, "tenant") != key.tenant.value()) return Drift("another tenant");
  const auto uid = SessionUid::Parse(TextAt(stamp, "session_uid"));
  const auto file = NumberAt(stamp, "generation");
  const auto salt = NumberAt(stamp, "journal_salt");
  const auto previous = NumberAt(stamp, "previous_salt");
  const std::string digest = absl::HexStringToBytes(TextAt(stamp, "head_digest"));
  if (!uid || !file || !salt || !previous || digest.size() != kDigestBytes) {
    return Drift("wrong shape");
  }
  return Manifest{.key = key,
                  .uid = *uid,
                  .store = store,
                  .file = *file,
                  .salt = *salt,
                  .previous_salt = *previous,
                  .head_digest = DigestFrom(digest)};
}

}  // namespace

absl::Status CheckManifest(const Head& head) {
  // A byte is written as "\u0000" at worst; beside the texts are numbers, ids and digests.
  constexpr size_t kEscaped = 6;
  constexpr size_t kBesideTexts = 8 * kKiB;
  constexpr size_t kMost = (kManifestFileBytes - kBesideTexts) / kEscaped;
  const size_t sm = head.sm ? head.sm->ext_id.size() + head.sm->slot_ref.size() : 0;
  if (head.project_root.size() + sm <= kMost) return absl::OkStatus();
  return TooLarge("manifest", kMost, head.project_root.size() + sm);
}

std::string EncodeManifest(const Manifest& manifest, const Head& head) {
  Json json = {{kEight, EightKeys(manifest, head)},
               {kStamp,
                {{"format", kManifestFormat},
                 {"tenant", manifest.key.tenant.value()},
                 {"session_uid", manifest.uid.value()},
                 {"revision", head.revision.value()},
                 {"generation", Salt(manifest.file)},
                 {"journal_salt", Salt(manifest.salt)},
                 {"previous_salt", Salt(manifest.previous_salt)},
                 {"head_digest", HexOf(manifest.head_digest)}}}};
  json[kStamp][kStampChecksum] = ManifestChecksum(json);
  return RenderManifest(json);
}

absl::StatusOr<Manifest> DecodeManifest(std::string_view text, const SessionKey& key,
                                        const StoreId& active) {
  const Json json = Json::parse(text, IsShallow, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return Drift("not JSON");
  if (!json.contains(kEight) || !json[kEight].is_object()) return Drift("wrong shape");
  const auto stored = StoreId::Parse(TextAt(json[kEight], "storeId"));
  if (!stored) return Drift("no store id");
  if (*stored != active) {
    return Refusal(Reason::kResumeMismatch, "this session belongs to another store")
        .With("stored", stored->value())
        .With("active", active.value());
  }
  if (!RightShape(json)) return Drift("wrong shape");
  if (TextAt(json[kStamp], kStampChecksum) != ManifestChecksum(json)) {
    return Drift("wrong checksum");
  }
  return FromJson(json, key, active);
}

}  // namespace holdfast::fs
