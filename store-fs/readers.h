// Reads of an open session: bounded pages, fixed at a position.
#ifndef HOLDFAST_STORE_FS_READERS_H_
#define HOLDFAST_STORE_FS_READERS_H_

#include "session/store.h"
#include "store-fs/environment.h"
#include "store-fs/index_view.h"
#include "store-fs/open_session.h"
#include "store-fs/slot_version.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

// See SessionStore's methods of the same names.
class Readers {
 public:
  Readers(Environment& environment, const SessionKey& key, OpenSession& session)
      : environment_(environment), key_(key), session_(session) {}

  // See SessionStore::LoadForDecision; the lease as it is stored. The head and the reply are of one
  // moment; the reply is read without the session's lock.
  absl::StatusOr<LoadedSession> Load(const std::optional<RequestId>& request);
  absl::StatusOr<MessagePage> Messages(std::optional<Revision> revision, MessageSeq after,
                                       PageLimit limit);
  // The data of a slot of more than `most_of_each` bytes is left out.
  absl::StatusOr<SlotPage> Slots(const SlotQuery& query,
                                 size_t most_of_each = std::numeric_limits<size_t>::max());
  absl::StatusOr<JournalPage> Entries(const JournalQuery& query, PageLimit limit);
  absl::StatusOr<EventPage> Events(EventSeq after, PageLimit limit);
  absl::StatusOr<std::string> Staged(const StagedBytes& bytes, uint64_t offset, size_t count);
  absl::StatusOr<ItemPage> Items(const ItemQuery& query, PageLimit limit);
  absl::StatusOr<AuditPage> Audits(AuditSeq after, PageLimit limit);
  // Adds to `row` the attributes and slots that `query` asks for. Nothing where another session has
  // come in the place of the one that it shows.
  absl::Status Complete(const ListQuery& query, SessionRow& row);

 private:
  // A slot of an owner, or that a run which may have it cannot be read.
  struct FoundSlot {
    std::string owner;
    std::optional<SlotVersion> version;
  };

  // nullopt as of FindSlots.
  absl::StatusOr<std::optional<SlotPage>> SlotsOnce(const SlotQuery& query, size_t most_of_each);
  // The slots of these owners, or of all, at a position, by owner; nullopt when all are asked for
  // and a run cannot be read.
  absl::StatusOr<std::optional<std::vector<FoundSlot>>> FindSlots(
      const IndexView& index, const std::vector<std::string>& owners, Position at) const;
  absl::StatusOr<JournalPage> EntriesOnce(const JournalQuery& query, PageLimit limit);
  absl::Status ReadSlotData(const SlotVersion& version, File& journal, SlotView& view);

  Environment& environment_;
  const SessionKey& key_;
  OpenSession& session_;
};

// Reads of a session whose id changes hands meanwhile.
inline constexpr int kReadsOfOne = 8;

// What `read` answers, with nothing of a session that was created in the place of this one
// meanwhile: its files may have the same names.
template <typename Read>
auto ReadOfOne(Environment& environment, const SessionKey& key, OpenSession& session, Read read) {
  for (int attempt = 1;; ++attempt) {
    const absl::StatusOr<SessionUid> before = session.Uid();
    auto result = read(Readers(environment, key, session));
    const bool same = !before.ok() || session.IsStill(*before);
    if (same || attempt == kReadsOfOne) return result;
  }
}

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_READERS_H_
