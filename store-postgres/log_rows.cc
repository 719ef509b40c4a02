#include "store-postgres/log_rows.h"

#include "platform/encoding.h"
#include "session/codec/records.h"
#include "store-postgres/item_answers.h"

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

}  // namespace

LogRows::LogRows(const SessionKey& key, const Applied& applied)
    : most_(kLogRowBytes - key.tenant.value().size() - key.session.value().size()),
      messages_(applied.head.messages.value() - applied.messages.size()) {
  AddActs(EncodeActs(applied));
  for (const Message& message : applied.messages) AddMessage(message);
}

void LogRows::AddActs(std::string_view acts) {
  while (!acts.empty()) {
    if (rows_.empty() || Room() == 0) Begin();
    rows_.back().acts = acts.substr(0, Room());
    acts.remove_prefix(rows_.back().acts.size());
  }
}

void LogRows::AddMessage(const Message& message) {
  const RecordParts record = PartsOf(message);
  Rest rest = {.begin = Own(Encoder().Number(record.size()).Raw(record.head).Take()),
               .bytes = record.bytes};
  if (rows_.empty() || Room() < kLeastPiece) Begin();
  ++messages_;
  Add(Piece::kBeginning, rest);
  while (rest.size() > 0) {
    Begin();
    Add(Piece::kFurther, rest);
  }
}

void LogRows::Add(Piece piece, Rest& rest) {
  constexpr size_t kHeader = 2;
  LogRow& row = rows_.back();
  size_t size = Room();
  if (row.msgs.empty()) {
    size = std::min(rest.size(), Room() - kHeader);
    row.msgs.push_back(Own(Encoder().Number(piece == Piece::kBeginning ? 0 : size).Take()));
    row.msgs_bytes += row.msgs.back().size();
  }
  for (std::string_view* part : {&rest.begin, &rest.bytes}) {
    const std::string_view moved = part->substr(0, size);
    if (moved.empty()) continue;
    row.msgs.push_back(moved);
    row.msgs_bytes += moved.size();
    part->remove_prefix(moved.size());
    size -= moved.size();
  }
}

size_t LogRows::Room() const {
  const LogRow& row = rows_.back();
  return most_ - std::min(most_, row.acts.size() + row.msgs_bytes);
}

std::string_view LogRows::Own(std::string bytes) { return own_.emplace_back(std::move(bytes)); }

std::optional<Acts> ReadActs(std::string_view pieces) {
  Decoder whole(pieces);
  const auto bytes = static_cast<size_t>(whole.Number());
  Decoder in(whole.Raw(bytes));
  if (!whole.ok() || in.Number() != kActsVersion) return std::nullopt;
  Acts acts;
  acts.granted = in.Number() != 0;
  const std::string_view request = in.Text();
  const std::string_view audit = in.Text();
  if (!request.empty()) {
    acts.request = DecodeRequest(request);
    if (!acts.request) return std::nullopt;
  }
  if (!audit.empty()) {
    acts.audit = DecodeAudit(audit);
    if (!acts.audit) return std::nullopt;
  }
  for (size_t left = in.Count(); left > 0; --left) {
    std::optional<Event> event = DecodeEvent(in.Text());
    if (!event) return std::nullopt;
    acts.events.push_back(*std::move(event));
  }
  if (!in.Done()) return std::nullopt;
  const bool of_items = acts.request && acts.request->receipt.items_version > ItemVersion();
  const std::string_view results = pieces.substr(whole.position());
  // A reply does not bring those of the server's own items.
  if (of_items && results.empty()) return std::nullopt;
  if (of_items && !ReadItemResults(results, acts.request->receipt)) return std::nullopt;
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
