#include "store-fs/write_ahead_record.h"

#include "platform/encoding.h"

#include <utility>

namespace holdfast::fs {
namespace {

constexpr uint64_t kWriteAheadVersion = 1;

}  // namespace

PlacedPayload::PlacedPayload(const std::vector<PlacedFrame>& frames) {
  std::vector<size_t> ends;  // in `beside_`, where each frame comes
  ends.reserve(frames.size());
  Encoder out;
  out.Number(kWriteAheadVersion).Number(frames.size());
  for (const PlacedFrame& placed : frames) {
    out.Text(placed.key->tenant.value()).Text(placed.key->session.value());
    out.Number(placed.salt).Number(placed.offset).Number(placed.frame.size());
    ends.push_back(out.size());
  }
  beside_ = out.Take();
  size_ = beside_.size();
  pieces_.reserve(2 * frames.size() + 1);
  size_t begin = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    pieces_.push_back(std::string_view(beside_).substr(begin, ends[i] - begin));
    pieces_.push_back(frames[i].frame);
    size_ += frames[i].frame.size();
    begin = ends[i];
  }
  pieces_.push_back(std::string_view(beside_).substr(begin));
}

std::optional<std::vector<StoredFrame>> DecodePlaced(std::string_view payload) {
  Decoder in(payload);
  if (in.Number() != kWriteAheadVersion) return std::nullopt;
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
