#include "server/rpc/write/staged_items.h"

#include "platform/status_macros.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/secrets/secret_check.h"

#include <utility>

namespace holdfast {

StagedItems::StagedItems(const Parts& parts, SessionKey key, uint64_t most)
    : store_(parts.store),
      secrets_(parts.secrets),
      key_(std::move(key)),
      most_(most),
      upload_(*UploadId::Parse(UuidText(parts.random.Bytes(16), 4))) {}

absl::Status StagedItems::EndItem() {
  if (open_ == nullptr) return absl::OkStatus();
  *open_ = StagedBytes{.upload = upload_,
                       .offset = item_offset_,
                       .size = bytes_ - item_offset_,
                       .digest = item_sum_->Sum()};
  open_ = nullptr;
  const auto malformed = item_references_ ? item_references_->End() : std::nullopt;
  return malformed ? MalformedReference(item_field_, *malformed) : absl::OkStatus();
}

void StagedItems::BeginItem(std::string field, std::optional<StagedBytes>& place) {
  open_ = &place;
  item_sum_ = std::make_unique<Sha256Stream>();
  item_secrets_.emplace(secrets_);
  item_references_.reset();
  item_field_ = std::move(field);
  item_offset_ = bytes_;
}

absl::Status StagedItems::Begin(Message message) {
  RETURN_IF_ERROR(EndItem());
  if (messages_.size() == kMessagesPerChange) {
    return TooLarge("messages", kMessagesPerChange, messages_.size() + 1);
  }
  const std::string bytes = message.data.Take();
  const std::string field = "messages[" + std::to_string(messages_.size()) + "].data";
  BeginItem(field, messages_.emplace_back(std::move(message)).staged);
  return Add(bytes);
}

absl::Status StagedItems::Begin(Slot slot) {
  RETURN_IF_ERROR(EndItem());
  if (slots_.size() == kSlotsPerChange) {
    return TooLarge("slots", kSlotsPerChange, slots_.size() + 1);
  }
  const std::string bytes = slot.data.Take();
  const std::string field = "slots[" + std::to_string(slots_.size()) + "].data";
  BeginItem(field, slots_.emplace_back(std::move(slot)).staged);
  item_references_.emplace();
  return Add(bytes);
}

absl::Status StagedItems::More(const std::string& bytes) {
  if (open_ == nullptr) return InvalidField("chunk", "must follow a message or a slot");
  return Add(bytes);
}

absl::Status StagedItems::Add(const std::string& bytes) {
  if (bytes.size() > kChunkBytes) return TooLarge("chunk", kChunkBytes, bytes.size());
  if (bytes.size() > most_ - bytes_) return TooLarge("data_bytes", most_, bytes_ + bytes.size());
  if (const auto offset = item_secrets_->Feed(bytes)) return SecretLeak(item_field_, *offset);
  if (item_references_) item_references_->Feed(bytes);
  item_sum_->Add(bytes);
  sum_.Add(bytes);
  bytes_ += bytes.size();
  pending_ += bytes;
  return pending_.size() < kChunkBytes ? absl::OkStatus() : Flush();
}

absl::Status StagedItems::Flush() {
  if (pending_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(store_.StageUpload(key_, upload_, staged_, pending_));
  staged_ += pending_.size();
  std::string().swap(pending_);  // its memory too, which an assignment would keep
  return absl::OkStatus();
}

absl::StatusOr<StagedContent> StagedItems::Finish(const std::string& sha256) {
  RETURN_IF_ERROR(EndItem());
  const Digest sum = sum_.Sum();
  if (bytes_ != most_) {
    return InvalidField("data_bytes", "must be as many as came: " + std::to_string(bytes_));
  }
  if (sha256 != View(sum)) return InvalidField("end.data_sha256", "is not that of what came");
  RETURN_IF_ERROR(Flush());
  StagedContent content{.messages = std::move(messages_), .slots = std::move(slots_)};
  if (bytes_ > 0) {
    content.link = UploadLink{.id = upload_, .bytes = bytes_, .sha256 = sum};
  } else {
    for (Message& message : content.messages) message.staged.reset();
    for (Slot& slot : content.slots) slot.staged.reset();
  }
  return content;
}

void StagedItems::Drop() { store_.DropUpload(key_, upload_).IgnoreError(); }

}  // namespace holdfast
