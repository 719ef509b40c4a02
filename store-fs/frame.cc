#include "store-fs/frame.h"

#include "platform/encoding.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/crc32c.h"

#include "absl/types/span.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace holdfast::fs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the journal is written as it lies in memory");

constexpr uint32_t kFrameMagic = 0x4a464c48;  // "HLFJ"
constexpr uint8_t kFrameVersion = 1;
constexpr size_t kChecksumBytes = 4;

// The header as it lies on disk.
struct RawHead {
  uint32_t magic;
  uint8_t version;
  uint8_t type;
  uint16_t flags;
  uint32_t length;
  uint32_t zero_pieces;  // all-zero sector pieces of the finished frame
  uint64_t salt;
  uint64_t epoch;
  uint64_t revision;
  uint32_t previous;
  uint32_t reserved[3];
  uint32_t unused;
  uint32_t header_crc;
};
static_assert(sizeof(RawHead) == kFrameHeader);

constexpr size_t kCrcAt = offsetof(RawHead, header_crc);

bool AllZero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
}

// Counts, of the sector pieces that bytes cover from an offset on, those that are all zeros.
class ZeroPieces {
 public:
  explicit ZeroPieces(uint64_t offset) : offset_(offset) {}

  void Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kSectorBytes - offset_ % kSectorBytes);
      zero_ = zero_ && AllZero(part);
      begun_ = true;
      offset_ += part.size();
      bytes.remove_prefix(part.size());
      if (offset_ % kSectorBytes == 0) EndPiece();
    }
  }
  uint32_t Count() {
    EndPiece();
    return count_;
  }

 private:
  void EndPiece() {
    if (begun_ && zero_) ++count_;
    begun_ = false;
    zero_ = true;
  }

  uint64_t offset_;
  bool begun_ = false;  // the piece at the offset has bytes
  bool zero_ = true;    // they are all zeros
  uint32_t count_ = 0;
};

std::string HeaderOf(const RawHead& raw) {
  std::string header(kFrameHeader, '\0');
  std::memcpy(header.data(), &raw, sizeof raw);
  const uint32_t crc = Crc32c(std::string_view(header).substr(0, kCrcAt));
  std::memcpy(header.data() + kCrcAt, &crc, sizeof crc);
  return header;
}

size_t SizeOf(absl::Span<const std::string_view> pieces) {
  size_t size = 0;
  for (const std::string_view piece : pieces) size += piece.size();
  return size;
}

FrameEnds EndsOf(const FrameHead& head, absl::Span<const std::string_view> payload,
                 uint64_t offset) {
  const size_t size = SizeOf(payload);
  RawHead raw{};
  raw.magic = kFrameMagic;
  raw.version = kFrameVersion;
  raw.type = static_cast<uint8_t>(head.type);
  raw.length = static_cast<uint32_t>(size);
  raw.salt = head.salt;
  raw.epoch = head.epoch.value();
  raw.revision = head.revision.value();
  raw.previous = head.previous;
  FrameEnds ends;
  ends.trailer.resize(FrameSize(size) - kFrameHeader - size);
  // The header and the checksum are never all zeros, so the count does not depend on their values.
  // The checksum goes in first because it may be all there is in the last piece.
  std::memset(ends.trailer.data(), 0xff, kChecksumBytes);
  ZeroPieces zeros(offset);
  zeros.Add(HeaderOf(raw));
  for (const std::string_view piece : payload) zeros.Add(piece);
  zeros.Add(ends.trailer);
  raw.zero_pieces = zeros.Count();
  ends.header = HeaderOf(raw);
  ends.checksum = Crc32c(ends.header);
  for (const std::string_view piece : payload) ends.checksum = Crc32c(piece, ends.checksum);
  std::memcpy(ends.trailer.data(), &ends.checksum, sizeof ends.checksum);
  return ends;
}

FrameRead WithoutFrame(FrameState state) { return {.state = state, .frame = {}}; }

bool HeadValid(const RawHead& raw, std::string_view bytes, std::optional<uint64_t> salt) {
  return raw.magic == kFrameMagic && raw.version == kFrameVersion &&
         raw.length <= kFramePayloadBytes && raw.header_crc == Crc32c(bytes.substr(0, kCrcAt)) &&
         (!salt || raw.salt == *salt);
}

}  // namespace

size_t FrameSize(size_t payload) {
  const size_t whole = kFrameHeader + payload + kChecksumBytes;
  return (whole + kFrameAlign - 1) / kFrameAlign * kFrameAlign;
}

absl::StatusOr<EncodedFrame> EncodeFrame(const FrameHead& head, std::string_view payload,
                                         uint64_t offset) {
  std::string bytes;
  bytes.reserve(FrameSize(payload.size()));
  bytes.resize(kFrameHeader);
  bytes.append(payload);
  return SealFrame(head, std::move(bytes), offset);
}

absl::StatusOr<EncodedFrame> SealFrame(const FrameHead& head, std::string bytes, uint64_t offset) {
  const std::string_view payload = std::string_view(bytes).substr(kFrameHeader);
  const size_t size = payload.size();
  if (size > kFramePayloadBytes) return TooLarge("change", kFramePayloadBytes, size);
  const FrameEnds ends = EndsOf(head, {&payload, 1}, offset);
  bytes.replace(0, kFrameHeader, ends.header);
  bytes += ends.trailer;
  return EncodedFrame{.bytes = std::move(bytes), .checksum = ends.checksum, .payload_bytes = size};
}

GatheredFrame::GatheredFrame(const FrameHead& head, const std::vector<std::string_view>& payload,
                             uint64_t offset)
    : ends_(EndsOf(head, payload, offset)) {
  pieces_.reserve(payload.size() + 2);
  pieces_.emplace_back(ends_.header);
  pieces_.insert(pieces_.end(), payload.begin(), payload.end());
  pieces_.emplace_back(ends_.trailer);
  size_ = SizeOf(pieces_);
}

uint64_t NewSalt(Random& random) {
  uint64_t salt = 0;
  const std::string bytes = random.Bytes(sizeof salt);
  std::memcpy(&salt, bytes.data(), sizeof salt);
  return salt;
}

EncodedFrame EncodeStart(const FileStart& start) {
  Encoder out;
  out.Number(start.number);
  FrameHead head;
  head.type = FrameType::kStart;
  head.salt = start.salt;
  return *EncodeFrame(head, out.bytes(), 0);  // a number is not too large
}

FrameRead ReadFrame(std::string_view journal, uint64_t offset, std::optional<uint64_t> salt) {
  if (offset >= journal.size()) return WithoutFrame(FrameState::kTorn);
  const std::string_view rest = journal.substr(offset);
  if (AllZero(rest.substr(0, kFrameHeader))) return WithoutFrame(FrameState::kTorn);
  if (rest.size() < kFrameHeader) return WithoutFrame(FrameState::kTorn);
  RawHead raw{};
  std::memcpy(&raw, rest.data(), sizeof raw);
  if (!HeadValid(raw, rest, salt)) return WithoutFrame(FrameState::kDamaged);
  const size_t size = FrameSize(raw.length);
  if (rest.size() < size) return WithoutFrame(FrameState::kTorn);
  const std::string_view bytes = rest.substr(0, size);
  const size_t end = kFrameHeader + raw.length;
  uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + end, sizeof checksum);
  if (checksum != Crc32c(bytes.substr(0, end))) {
    ZeroPieces zeros(offset);
    zeros.Add(bytes);
    const bool lacks = zeros.Count() > raw.zero_pieces;
    return WithoutFrame(lacks ? FrameState::kTorn : FrameState::kDamaged);
  }
  FrameRead read{.state = FrameState::kValid, .frame = {}};
  read.frame.head = {.type = static_cast<FrameType>(raw.type),
                     .salt = raw.salt,
                     .epoch = Epoch(raw.epoch),
                     .revision = Revision(raw.revision),
                     .previous = raw.previous};
  read.frame.payload = bytes.substr(kFrameHeader, raw.length);
  read.frame.checksum = checksum;
  read.frame.size = size;
  return read;
}

bool ValidFrameFollows(std::string_view journal, uint64_t offset, std::optional<uint64_t> salt) {
  for (uint64_t at = offset + kFrameAlign; at + kFrameHeader <= journal.size(); at += kFrameAlign) {
    if (ReadFrame(journal, at, salt).state == FrameState::kValid) return true;
  }
  return false;
}

}  // namespace holdfast::fs
