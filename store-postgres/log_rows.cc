#include "store-postgres/log_rows.h"

#include "session/codec/records.h"
#include "session/encoding.h"

#include <algorithm>
#include <utility>

namespace holdfast::pg {
namespace {

constexpr uint64_t kActsVersion = 1;
// A message begins in a row only where that many of its bytes have room.
constexpr size_t kLeastPiece = 64;

std::string EncodeActs(const Applied& applied) {
  if (!applied.request && !applied.audit && applied.events.empty()) return "";
  Encoder out;
  out.Number(kActsVersion).Number(applied.receipt.token.empty() ? 0 : 1);
  if (applied.request) {
    RequestRow row{.stamp = *applied.request, .receipt = applied.receipt, .at = applied.at};
    row.receipt.token.clear();
    out.Text(EncodeRequest(row));
  } else {
    out.Text("");
  }
  out.Text(applied.audit ? EncodeAudit(*applied.audit) : "");
  out.Number(applied.events.size());
  for (const Event& event : applied.events) out.Text(EncodeEvent(event));
  return Encoder().Number(out.size()).Raw(out.bytes()).Take();
}

// Fills one row after the other.
class RowBuilder {
 public:
  RowBuilder(const SessionKey& key, const Applied& applied)
      : most_(kLogRowBytes - key.tenant.value().size() - key.session.value().size()),
        messages_(applied.head.messages.value() - applied.messages.size()) {}

  void AddActs(std::string_view acts) {
    while (!acts.empty()) {
      if (rows_.empty() || Room() == 0) Begin();
      rows_.back().acts = acts.substr(0, Room());
      acts.remove_prefix(rows_.back().acts.size());
    }
  }

  void AddMessage(const RecordParts& record) {
    const std::string begin = Encoder().Number(record.size()).Raw(record.head).Take();
    if (rows_.empty() || Room() < kLeastPiece) Begin();
    ++messages_;
    Rest rest = {.begin = begin, .bytes = record.bytes};
    Add(Piece::kBeginning, rest);
    while (rest.size() > 0) {
      Begin();
      Add(Piece::kFurther, rest);
    }
  }

  std::vector<LogRow> Take() { return std::move(rows_); }

 private:
  enum class Piece : uint8_t { kBeginning, kFurther };

  // What of a message is not in a row yet.
  struct Rest {
    std::string_view begin;
    std::string_view bytes;

    [[nodiscard]] size_t size() const { return begin.size() + bytes.size(); }
    void MoveTo(std::string& data, size_t size) {
      for (std::string_view* part : {&begin, &bytes}) {
        const std::string_view moved = part->substr(0, size);
        data += moved;
        part->remove_prefix(moved.size());
        size -= moved.size();
      }
    }
  };

  void Begin() { rows_.push_back({.messages = messages_}); }

  [[nodiscard]] size_t Room() const {
    const LogRow& row = rows_.back();
    return most_ - std::min(most_, row.acts.size() + row.message_data.size());
  }

  // As much of a message's `rest` as has room.
  void Add(Piece piece, Rest& rest) {
    constexpr size_t kHeader = 2;
    std::string& data = rows_.back().message_data;
    size_t size = Room();
    if (data.empty()) {
      size = std::min(rest.size(), Room() - kHeader);
      data.reserve(kHeader + size);
      data += Encoder().Number(piece == Piece::kBeginning ? 0 : size).bytes();
    }
    rest.MoveTo(data, size);
  }

  const size_t most_;
  uint64_t messages_;
  std::vector<LogRow> rows_;
};

}  // namespace

std::vector<LogRow> LogRowsOf(const SessionKey& key, const Applied& applied) {
  RowBuilder rows(key, applied);
  rows.AddActs(EncodeActs(applied));
  for (const Message& message : applied.messages) rows.AddMessage(PartsOf(message));
  return rows.Take();
}

std::optional<Acts> ReadActs(std::string_view pieces) {
  Decoder in(pieces);
  if (in.Number() != pieces.size() - in.position() || in.Number() != kActsVersion) {
    return std::nullopt;
  }
  Acts acts;
  acts.granted = in.Number() != 0;
  const std::string_view request = in.Text();
  const std::string_view audit = in.Text();
  if (!request.empty() && !(acts.request = DecodeRequest(request))) return std::nullopt;
  if (!audit.empty() && !(acts.audit = DecodeAudit(audit))) return std::nullopt;
  for (size_t left = in.Count(); left > 0; --left) {
    std::optional<Event> event = DecodeEvent(in.Text());
    if (!event) return std::nullopt;
    acts.events.push_back(*std::move(event));
  }
  if (!in.Done()) return std::nullopt;
  return acts;
}

bool ActsReader::Take(LogPlace place, std::string_view piece) {
  const bool goes_on = !pieces_.empty() && !IsWhole();
  if (place != (goes_on ? place_.Next() : LogPlace{.n = place.n})) return false;
  if (!goes_on) pieces_.clear();
  place_ = place;
  pieces_ += piece;
  return !piece.empty();
}

bool ActsReader::IsWhole() const {
  Decoder in(pieces_);
  const uint64_t bytes = in.Number();
  return in.ok() && pieces_.size() - in.position() >= bytes;
}

bool MessageReader::Take(LogPlace place, uint64_t messages, std::string_view piece) {
  Decoder head(piece);
  const uint64_t carried = head.Number();
  piece.remove_prefix(head.position());
  if (!head.ok() || carried > piece.size()) return false;
  const LogPlace last = std::exchange(place_, place);
  if (next_ == 0) {
    next_ = messages + 1;
    bytes_ = piece.substr(carried);
    return true;
  }
  bytes_.erase(0, position_);
  position_ = 0;
  // The message that is not whole has begun before the row, and fills it or ends in it.
  const bool begun = !bytes_.empty();
  if (begun != (carried > 0) || messages + 1 != next_ + (begun ? 1 : 0)) return false;
  if (begun && place != last.Next()) return false;
  bytes_ += piece;
  return true;
}

std::optional<MessageReader::Item> MessageReader::Next() {
  Decoder in(std::string_view(bytes_).substr(position_));
  const std::string_view record = in.Text();
  if (next_ == 0 || !in.ok()) return std::nullopt;
  position_ += in.position();
  return Item{.number = next_++, .record = record};
}

}  // namespace holdfast::pg
