// The records that both stores keep: how a session's things become bytes (layout in
// docs/formats.md).
//
// A decoder answers nullopt for bytes that no encoder wrote; it never guesses.
#ifndef HOLDFAST_SESSION_CODEC_RECORDS_H_
#define HOLDFAST_SESSION_CODEC_RECORDS_H_

#include "platform/encoding.h"
#include "session/change.h"
#include "session/head.h"
#include "session/model.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// A record that ends with bytes of a message or a slot, which are not copied to its head: they are
// written one behind the other. Valid as long as the item.
struct RecordParts {
  std::string head;
  std::string_view bytes;

  [[nodiscard]] size_t size() const { return head.size() + bytes.size(); }
};

RecordParts PartsOf(const Message& message);
std::string EncodeMessage(const Message& message);
std::optional<Message> DecodeMessage(std::string_view bytes);

RecordParts PartsOf(const Slot& slot);
std::string EncodeSlot(const Slot& slot);
std::optional<Slot> DecodeSlot(std::string_view bytes);

std::string EncodeEntry(const JournalEntry& entry);
std::optional<JournalEntry> DecodeEntry(std::string_view bytes);
// The slot record that an entry's record ends with; empty when the entry has no slot, or is none.
std::string_view SlotRecordIn(std::string_view entry);

std::string EncodeEvent(const Event& event);
std::optional<Event> DecodeEvent(std::string_view bytes);

std::string EncodeAudit(const AuditRecord& record);
std::optional<AuditRecord> DecodeAudit(std::string_view bytes);

std::string EncodeRequest(const RequestRow& row);
std::optional<RequestRow> DecodeRequest(std::string_view bytes);

// The head without what is never stored: the lease's state by the clock.
std::string EncodeHead(const Head& head);
std::optional<Head> DecodeHead(std::string_view bytes);

// The record that replaces a session's head when the session is deleted.
std::string EncodeFormer(const FormerSession& former);
std::optional<FormerSession> DecodeFormer(std::string_view bytes);

// An id of 36 letters as it is read from a record; the decoder fails when it is none.
template <typename IdType>
IdType ReadId(Decoder& in) {
  const auto id = IdType::Parse(in.Text());
  if (!id) in.Fail();
  return id.value_or(IdType());
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CODEC_RECORDS_H_
