#include "session/audit_reads.h"

#include "platform/status_macros.h"
#include "session/guard.h"
#include "session/limits.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace holdfast {
namespace {

size_t FactBytes(const AuditRecord& record) {
  size_t bytes = 0;
  for (const auto& [name, value] : record.data) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

absl::StatusOr<FoundAudit> FindAudit(SessionStore& store, const SessionKey& key,
                                     const AuditQuery& query, PageLimit limit) {
  FoundAudit found{.last = query.after};
  if (query.audit_class.empty()) {
    ASSIGN_OR_RETURN(AuditPage page, store.ReadAudit(key, query.after, limit));
    found.uid = page.uid;
    if (!page.records.empty()) found.last = page.records.back().seq;
    found.records = std::move(page.records);
    found.end = page.end;
    return found;
  }
  uint32_t looked_at = 0;
  size_t bytes = 0;
  while (!found.end && looked_at < kAuditRecordsLookedAt) {
    ASSIGN_OR_RETURN(AuditPage page,
                     store.ReadAudit(key, found.last, {.items = kPageMost, .bytes = kPageBytes}));
    if (found.uid != SessionUid()) {
      RETURN_IF_ERROR(CheckSameSession(page.uid, found.uid));
    }
    found.uid = page.uid;
    for (AuditRecord& record : page.records) {
      const bool wanted = record.audit_class == query.audit_class;
      const size_t size = wanted ? FactBytes(record) : 0;
      const bool full = found.records.size() == limit.items ||
                        (!found.records.empty() && bytes + size > limit.bytes);
      if (wanted && full) return found;
      found.last = record.seq;
      ++looked_at;
      if (!wanted) continue;
      bytes += size;
      found.records.push_back(std::move(record));
    }
    found.end = page.end;
  }
  return found;
}

}  // namespace holdfast
