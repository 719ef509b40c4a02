#include "store-fs/listed_rows.h"

#include "platform/exceptions.h"
#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-fs/listing.h"
#include "store-fs/readers.h"

#include "absl/status/status.h"

#include <cstddef>
#include <memory>
#include <utility>

namespace holdfast::fs {
namespace {

// Shows the row as that of a session that cannot be read, in the place where it was found.
void MarkUnreadable(const absl::Status& refusal, SessionRow& row) {
  SessionRow unreadable = UnreadableRow(row.id, refusal);
  unreadable.created_at = row.created_at;
  unreadable.group = std::move(row.group);
  row = std::move(unreadable);
}

absl::Status CompleteRow(Environment& environment, SessionTable& sessions, const ListQuery& query,
                         SessionRow& row) {
  if (row.condition != SessionRow::Condition::kOk) return absl::OkStatus();
  const SessionKey key{.tenant = query.tenant, .session = row.id};
  absl::Status completed;
  const auto thrown = CatchException([&] {
    const std::shared_ptr<OpenSession> session = sessions.Get(key);
    completed = ReadOfOne(environment, key, *session,
                          [&](Readers readers) { return readers.Complete(query, row); });
  });
  // As of a session that cannot be opened for a row in the first place.
  if (thrown) completed = Refusal(Reason::kDamaged, "").ToStatus();
  const bool is_gone =
      Is(completed, Reason::kSessionNotFound) || Is(completed, Reason::kTombstoned);
  if (is_gone) return absl::OkStatus();
  const bool is_unreadable = Is(completed, Reason::kDamaged) ||
                             Is(completed, Reason::kManifestDrift) ||
                             Is(completed, Reason::kResumeMismatch);
  if (!is_unreadable) return completed;
  MarkUnreadable(completed, row);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ListPage> ListRows(Environment& environment, SessionTable& sessions,
                                  const ListQuery& query) {
  ListPage page = environment.listing.Page(query);
  if (query.attributes.empty() && query.owners.empty()) return page;
  size_t bytes = 0;
  for (size_t i = 0; i < page.rows.size(); ++i) {
    RETURN_IF_ERROR(CompleteRow(environment, sessions, query, page.rows[i]));
    bytes += RowBytes(page.rows[i]);
    if (i == 0 || bytes <= query.most_bytes) continue;
    page.rows.resize(i);
    page.end = false;
  }
  return page;
}

}  // namespace holdfast::fs
