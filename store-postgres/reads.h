// What is read of a session: pages, each by one statement that answers the head with the items.
#ifndef HOLDFAST_STORE_POSTGRES_READS_H_
#define HOLDFAST_STORE_POSTGRES_READS_H_

#include "session/ids.h"
#include "session/model.h"
#include "session/store.h"
#include "store-postgres/database.h"
#include "store-postgres/interest.h"
#include "store-postgres/known_heads.h"

#include "absl/status/statusor.h"

#include <optional>

namespace holdfast::pg {

// Each method as the one of SessionStore that it is named after. Any thread may call.
class Reads {
 public:
  // All outlive it.
  Reads(const Database& database, KnownHeads& heads, Interest& interest)
      : database_(database), heads_(heads), interest_(interest) {}

  absl::StatusOr<MessagePage> Messages(const SessionKey& key, std::optional<Revision> revision,
                                       MessageSeq after, PageLimit limit);
  absl::StatusOr<SlotPage> Slots(const SessionKey& key, const SlotQuery& query);
  absl::StatusOr<JournalPage> Journal(const SessionKey& key, const JournalQuery& query,
                                      PageLimit limit);
  absl::StatusOr<EventPage> Events(const SessionKey& key, EventSeq after, PageLimit limit);
  absl::StatusOr<Event> LastEvent(const SessionKey& key);
  absl::StatusOr<AuditPage> Audit(const SessionKey& key, AuditSeq after, PageLimit limit);

 private:
  // What one statement found of the journal, and the last number it looked at for a turn.
  struct JournalLook {
    JournalPage page;
    JournalNumber to;
  };

  absl::StatusOr<JournalLook> LookAtJournal(const SessionKey& key, const JournalQuery& query,
                                            PageLimit limit);
  // The head in the first row, or why there is none.
  absl::StatusOr<Head> HeadIn(const Rows& rows, const SessionKey& key);

  const Database& database_;
  KnownHeads& heads_;
  Interest& interest_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_READS_H_
