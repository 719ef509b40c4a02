#include "session/snapshot_description.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace holdfast {
namespace {

using Json = nlohmann::json;

// A text as JSON. A byte that is no UTF-8 becomes U+FFFD.
std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Hexadecimal(const Digest& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::optional<uint64_t> NumberIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<uint64_t>();
}

std::optional<std::string> TextIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<Digest> DigestIn(const Json& json) {
  const std::optional<std::string> text = TextIn(json, "digest");
  if (!text || text->size() != 2 * kDigestBytes) return std::nullopt;
  const bool hexadecimal = std::ranges::all_of(
      *text, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
  if (!hexadecimal) return std::nullopt;
  return DigestFrom(absl::HexStringToBytes(*text));
}

// Sets `sm` from the key state_machine. False where that is neither null nor a reference.
bool ReadStateMachine(const Json& json, std::optional<StateMachineRef>& sm) {
  const auto found = json.find("state_machine");
  if (found == json.end()) return false;
  if (found->is_null()) return true;
  if (!found->is_object()) return false;
  std::optional<std::string> extension = TextIn(*found, "extension_id");
  std::optional<std::string> slot = TextIn(*found, "slot_ref");
  if (!extension || !slot) return false;
  sm = StateMachineRef{.ext_id = *std::move(extension), .slot_ref = *std::move(slot)};
  return true;
}

}  // namespace

SnapshotDescription DescribeSnapshot(const Head& head, TurnNumber turn) {
  return {.snapshot = head.revision,
          .turn = turn,
          .generation = head.generation,
          .messages = head.messages,
          .digest = head.history,
          .journal = head.journal,
          .sm = head.sm};
}

std::string EncodeSnapshotDescription(const SnapshotDescription& description) {
  std::string sm = "null";
  if (description.sm) {
    sm = absl::StrCat("{\"extension_id\":", Quoted(description.sm->ext_id),
                      ",\"slot_ref\":", Quoted(description.sm->slot_ref), "}");
  }
  std::string data = absl::StrCat("{\"snapshot\":", description.snapshot.value(),
                                  ",\"turn\":", description.turn.value(),
                                  ",\"generation\":", description.generation.value());
  absl::StrAppend(&data, ",\"messages\":", description.messages.value(), R"(,"digest":")",
                  Hexadecimal(description.digest), "\"");
  absl::StrAppend(&data, ",\"journal\":", description.journal.value(), ",\"state_machine\":", sm,
                  "}");
  return data;
}

std::optional<SnapshotDescription> DecodeSnapshotDescription(std::string_view data) {
  const Json json = Json::parse(data, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto snapshot = NumberIn(json, "snapshot");
  const auto turn = NumberIn(json, "turn");
  const auto generation = NumberIn(json, "generation");
  const auto messages = NumberIn(json, "messages");
  const auto digest = DigestIn(json);
  const auto journal = NumberIn(json, "journal");
  if (!snapshot || !turn || !generation || !messages || !digest || !journal) return std::nullopt;
  SnapshotDescription description{.snapshot = Revision(*snapshot),
                                  .turn = TurnNumber(*turn),
                                  .generation = Generation(*generation),
                                  .messages = MessageSeq(*messages),
                                  .digest = *digest,
                                  .journal = JournalNumber(*journal),
                                  .sm = std::nullopt};
  if (!ReadStateMachine(json, description.sm)) return std::nullopt;
  return description;
}

}  // namespace holdfast
