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

// The records of one class among those that are looked at.
class AuditSearch {
 public:
  AuditSearch(const AuditQuery& query, PageLimit limit) : query_(query), limit_(limit) {
    found_.last = query.after;
  }

  // Takes the next page of all records. Answers whether the search goes on.
  absl::StatusOr<bool> Take(AuditPage page) {
    if (looked_at_ > 0) {
      RETURN_IF_ERROR(CheckSameSession(page.uid, found_.uid));
    }
    found_.uid = page.uid;
    for (AuditRecord& record : page.records) {
      if (record.audit_class == query_.audit_class && !Add(record)) return false;
      found_.last = record.seq;
      ++looked_at_;
    }
    found_.end = page.end;
    return !page.end && looked_at_ < kAuditRecordsLookedAt;
  }

  [[nodiscard]] AuditSeq last() const { return found_.last; }
  FoundAudit TakeFound() { return std::move(found_); }

 private:
  // Answers whether there was room; there is for the first one.
  bool Add(AuditRecord& record) {
    const size_t size = FactBytes(record);
    const size_t count = found_.records.size();
    if (count == limit_.items || (count > 0 && bytes_ + size > limit_.bytes)) return false;
    bytes_ += size;
    found_.records.push_back(std::move(record));
    return true;
  }

  const AuditQuery& query_;
  const PageLimit limit_;
  FoundAudit found_;
  uint32_t looked_at_ = 0;
  size_t bytes_ = 0;
};

// Of every class.
absl::StatusOr<FoundAudit> NextAudit(SessionStore& store, const SessionKey& key, AuditSeq after,
                                     PageLimit limit) {
  ASSIGN_OR_RETURN(AuditPage page, store.ReadAudit(key, after, limit));
  const AuditSeq last = page.records.empty() ? after : page.records.back().seq;
  return FoundAudit{
      .uid = page.uid, .records = std::move(page.records), .last = last, .end = page.end};
}

}  // namespace

absl::StatusOr<FoundAudit> FindAudit(SessionStore& store, const SessionKey& key,
                                     const AuditQuery& query, PageLimit limit) {
  if (query.audit_class.empty()) return NextAudit(store, key, query.after, limit);
  AuditSearch search(query, limit);
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(AuditPage page, store.ReadAudit(key, search.last(),
                                                     {.items = kPageMost, .bytes = kPageBytes}));
    ASSIGN_OR_RETURN(more, search.Take(std::move(page)));
  }
  return search.TakeFound();
}

}  // namespace holdfast
