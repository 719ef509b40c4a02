// What is read of a session: pages, each by one statement that answers the head with the items.
#ifndef HOLDFAST_STORE_POSTGRES_READS_H_
#define HOLDFAST_STORE_POSTGRES_READS_H_

#include "platform/lru_cache.h"
#include "session/heap_size.h"
#include "session/ids.h"
#include "session/item_query.h"
#include "session/limits.h"
#include "session/model.h"
#include "session/store.h"
#include "store-postgres/database.h"
#include "store-postgres/head_cache.h"
#include "store-postgres/interest.h"
#include "store-postgres/log_rows.h"
#include "store-postgres/pg/rows.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::pg {

// What is read of what changes said.
struct ActsKind {
  Statement statement;
  int32_t number = 0;     // of the kind, for holdfast.find_row
  std::string_view what;  // one of them, for DAMAGED
};

// Each method as the one of SessionStore that it is named after. Any thread may call.
class Reads {
 public:
  // All outlive it.
  Reads(const Database& database, HeadCache& heads, Interest& interest)
      : database_(database), heads_(heads), interest_(interest) {}

  absl::StatusOr<MessagePage> Messages(const SessionKey& key, std::optional<Revision> revision,
                                       MessageSeq after, PageLimit limit);
  absl::StatusOr<SlotPage> Slots(const SessionKey& key, const SlotQuery& query);
  absl::StatusOr<JournalPage> Journal(const SessionKey& key, const JournalQuery& query,
                                      PageLimit limit);
  absl::StatusOr<ItemPage> Items(const SessionKey& key, const ItemQuery& query, PageLimit limit);
  absl::StatusOr<EventPage> Events(const SessionKey& key, EventSeq after, PageLimit limit);
  absl::StatusOr<Event> LastEvent(const SessionKey& key);
  absl::StatusOr<AuditPage> Audit(const SessionKey& key, AuditSeq after, PageLimit limit);

 private:
  // Where messages of a history are: those up to `newest` of a generation.
  struct Place {
    Generation generation;  // 0: as the head has it now, all of them
    MessageSeq newest;

    bool operator==(const Place&) const = default;
  };
  // Changes of which something is read.
  struct ActsQuery {
    const ActsKind& kind;
    uint64_t after = 0;
    PageLimit limit;
  };
  // Takes what a change said, which ends in `row`; false: no more is wanted.
  using TakeActs =
      absl::FunctionRef<absl::StatusOr<bool>(const Rows& rows, size_t row, const Acts& acts)>;

  // Where a page of messages ended: the next one begins there or behind it. A hint, since messages
  // are known by their numbers.
  struct PageEnd {
    MessageSeq last;
    Generation generation;  // as of its Place
    LogPlace row;
  };
  friend size_t HeapSize(const PageEnd& /*end*/) { return 0; }
  // By what a page is found.
  struct PageStart {
    Place place;
    std::optional<PageEnd> before;  // the page before; absent: the first row is searched for
  };
  static constexpr LruBounds kPageEndsMost = {.entries = 4096, .bytes = kMiB};

  // Where message `seq` of the history at `revision` is, and those behind it.
  static Place PlaceAt(const Head& head, std::optional<Revision> revision, MessageSeq seq);
  // A page of the messages at `start`; nullopt, with the right start in it, where they are
  // elsewhere.
  absl::StatusOr<std::optional<MessagePage>> MessagesAt(const SessionKey& key,
                                                        std::optional<Revision> revision,
                                                        PageStart& start, MessageSeq after,
                                                        PageLimit limit);
  // Gives `take` one change after the other from behind what `query` names on, and answers
  // the head.
  absl::StatusOr<Head> EachActs(const SessionKey& key, const ActsQuery& query, TakeActs take);
  // The change that a read of events begins in.
  struct ReadFrom {
    bool old = false;  // older than its events are kept
    EventSeq last;     // of it
  };
  // EVENTS_COMPACTED where it is older than what is kept; `last` is the session's last event.
  absl::Status CheckPromise(const SessionKey& key, const ReadFrom& from, EventSeq last);

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
  HeadCache& heads_;
  Interest& interest_;
  // Of sessions whose messages were read last. A wrong one costs a search.
  LruCache<SessionKey, PageEnd> page_ends_{kPageEndsMost};
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_READS_H_
