#include "store-fs/write_ahead_record.h"

#include "session/encoding.h"

#include <utility>

namespace holdfast::fs {
namespace {

constexpr uint64_t kVersion = 1;

}  // namespace

std::string EncodePlaced(std::string begun, const std::vector<PlacedFrame>& frames) {
  size_t room = begun.size() + kBesideFrameBytes;
  for (const PlacedFrame& placed : frames) room += placed.frame.size() + kBesideFrameBytes;
  Encoder out(std::move(begun), room);
  out.Number(kVersion).Number(frames.size());
  for (const PlacedFrame& placed : frames) {
    out.Text(placed.key->tenant.value()).Text(placed.key->session.value());
    out.Number(placed.salt).Number(placed.offset).Text(placed.frame);
  }
  return out.Take();
}

std::optional<std::vector<StoredFrame>> DecodePlaced(std::string_view payload) {
  Decoder in(payload);
  if (in.Number() != kVersion) return std::nullopt;
  std::vector<StoredFrame> frames;
  const size_t count = in.Count();
  frames.reserve(count);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    const auto tenant = TenantId::Parse(in.Text());
    const auto session = SessionId::Parse(in.Text());
    StoredFrame stored;
    stored.salt = in.Number();
    stored.offset = in.Number();
    stored.frame = in.Text();
    if (!tenant || !session) return std::nullopt;
    stored.key = {.tenant = *tenant, .session = *session};
    frames.push_back(std::move(stored));
  }
  if (!in.Done()) return std::nullopt;
  return frames;
}

}  // namespace holdfast::fs
