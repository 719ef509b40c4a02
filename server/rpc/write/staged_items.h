// Messages and slots that come piece by piece, staged in one upload of the store. Holds at most one
// chunk of their bytes.
#ifndef HOLDFAST_SERVER_RPC_WRITE_STAGED_ITEMS_H_
#define HOLDFAST_SERVER_RPC_WRITE_STAGED_ITEMS_H_

#include "platform/clock.h"
#include "platform/digest.h"
#include "session/change.h"
#include "session/ids.h"
#include "session/model.h"
#include "session/secrets/secret_reference.h"
#include "session/secrets/secret_scan.h"
#include "session/store.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// What a finished upload holds.
struct StagedContent {
  std::vector<Message> messages;
  std::vector<Slot> slots;
  std::optional<UploadLink> link;  // absent when no item has a byte
};

// Used by one thread at a time; calls block as the store does. After an error only Drop may follow.
class StagedItems {
 public:
  // What an upload uses; all must outlive it.
  struct Parts {
    SessionStore& store;
    Random& random;
    const SecretScanner& secrets;
  };

  // Takes up to `most` bytes for the session `key`.
  StagedItems(const Parts& parts, SessionKey key, uint64_t most);

  // Each begins an item, whose bytes so far are its `data`. TOO_LARGE for more items than a change
  // may have; MALFORMED_SECRET_REFERENCE for one in the slot that ends here.
  absl::Status Begin(Message message);
  absl::Status Begin(Slot slot);
  // The next bytes of the item that was begun last. INVALID_FIELD when none was; TOO_LARGE for more
  // than a chunk, or for more in all than was announced; SECRET_LEAK for a secret that ends in
  // them.
  absl::Status More(const std::string& bytes);
  // Everything, when `sha256` is that of all bytes and they are as many as were announced; else
  // INVALID_FIELD. MALFORMED_SECRET_REFERENCE for one in the last slot.
  absl::StatusOr<StagedContent> Finish(const std::string& sha256);
  // Hands the bytes that are still in memory to the store.
  absl::Status Flush();
  // Gives up what was staged, unless a change has taken it over.
  void Drop();

  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  // Of all items so far.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  // What it takes in memory, about: bytes that the store does not have yet, and the list of items.
  [[nodiscard]] size_t HeldBytes() const {
    return pending_.capacity() + messages_.size() * sizeof(Message) + slots_.size() * sizeof(Slot);
  }

 private:
  void BeginItem(std::string field, std::optional<StagedBytes>& place);
  absl::Status Add(const std::string& bytes);
  absl::Status EndItem();

  SessionStore& store_;
  const SecretScanner& secrets_;
  const SessionKey key_;
  const uint64_t most_;
  const UploadId upload_;
  uint64_t bytes_ = 0;   // of all items
  uint64_t staged_ = 0;  // of these, how many the store has
  std::string pending_;
  Sha256Stream sum_;
  // The item that was begun last: where it begins, and the sum of its own bytes.
  std::optional<StagedBytes>* open_ = nullptr;
  std::unique_ptr<Sha256Stream> item_sum_;
  std::optional<SecretStream> item_secrets_;
  std::optional<ReferenceStream> item_references_;  // of a slot
  std::string item_field_;                          // "messages[2].data"
  uint64_t item_offset_ = 0;
  std::vector<Message> messages_;
  std::vector<Slot> slots_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_STAGED_ITEMS_H_
