#include "store-postgres/pin_reads.h"

#include "platform/status_macros.h"
#include "session/kept.h"
#include "store-postgres/read_params.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::pg {
namespace {

constexpr Statement kPins = {"pins",
                             "SELECT i.key, i.data FROM holdfast.item i"
                             " WHERE i.tenant = $1 AND i.session_id = $2 AND i.collection = $3"
                             "  AND i.key >= $4 AND i.key < $5"};
constexpr Statement kPinsOf = {"pins_of",
                               "SELECT i.key, i.data FROM holdfast.item i"
                               " WHERE i.tenant = $1 AND i.session_id = $2 AND i.collection = $3"
                               "  AND i.key = ANY ($4)"};

absl::StatusOr<std::vector<PinnedSnapshot>> Decode(const Rows& rows) {
  std::vector<PinnedSnapshot> pins;
  for (size_t row = 0; row < rows.size(); ++row) {
    const ItemName name{.collection = kCheckpointCollection,
                        .key = std::string(rows.Bytes(row, 0))};
    std::optional<PinnedSnapshot> pin = DecodePinned(name, rows.Bytes(row, 1));
    if (!pin) return Damaged("checkpoint", 0);
    pins.push_back(*std::move(pin));
  }
  return pins;
}

}  // namespace

absl::StatusOr<std::vector<PinnedSnapshot>> ReadPins(const Database& database,
                                                     const SessionKey& key) {
  Params params = KeyParams(key);
  params.Text(kCheckpointCollection);
  params.Bytes(CheckpointsOfKind(kFirstCheckpointKind).start);
  params.Bytes(CheckpointsOfKind(kLastCheckpointKind).end);
  ASSIGN_OR_RETURN(const Rows rows, database.Ask(kPins, params));
  return Decode(rows);
}

absl::StatusOr<std::optional<Head>> ReadHeadWithPin(const Database& database, const SessionKey& key,
                                                    const Head& head,
                                                    std::optional<Revision> revision) {
  const bool is_older = revision && *revision < OldestKept(head).revision;
  if (!is_older || head.checkpoints.empty()) return std::nullopt;
  const std::vector<std::string> keys = CheckpointKeysAt(*revision);
  Params params = KeyParams(key);
  params.Text(kCheckpointCollection).BytesArray({keys.begin(), keys.end()});
  ASSIGN_OR_RETURN(const Rows rows, database.Ask(kPinsOf, params));
  ASSIGN_OR_RETURN(const std::vector<PinnedSnapshot> pins, Decode(rows));
  if (pins.empty()) return std::nullopt;
  return WithPinned(head, {&pins.front(), 1});
}

}  // namespace holdfast::pg
