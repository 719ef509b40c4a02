// Reads of audit records of one class.
#ifndef HOLDFAST_SESSION_AUDIT_READS_H_
#define HOLDFAST_SESSION_AUDIT_READS_H_

#include "session/ids.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace holdfast {

struct AuditQuery {
  AuditSeq after;
  std::string audit_class;  // empty: of every class
};

// Records that a query finds. They are fewer than the limit says, or none, where the page ends
// because it has looked at kAuditRecordsLookedAt records.
struct FoundAudit {
  SessionUid uid;
  std::vector<AuditRecord> records;
  AuditSeq last;     // looked at: the next page begins behind it
  bool end = false;  // there are no more records than the page has looked at
};

// The errors of SessionStore::ReadAudit.
absl::StatusOr<FoundAudit> FindAudit(SessionStore& store, const SessionKey& key,
                                     const AuditQuery& query, PageLimit limit);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_AUDIT_READS_H_
