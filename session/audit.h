// The audit chain: each record's hash covers the one before, so that a changed, removed, swapped or
// inserted record is seen.
#ifndef HOLDFAST_SESSION_AUDIT_H_
#define HOLDFAST_SESSION_AUDIT_H_

#include "session/digest.h"
#include "session/model.h"

namespace holdfast {

// The hash that `record` must carry, from its `previous` and everything else in it but `hash`.
Digest AuditHash(const AuditRecord& record);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_AUDIT_H_
