#include "session/audit.h"

#include "session/encoding.h"

namespace holdfast {

Digest AuditHash(const AuditRecord& record) {
  Encoder out;
  out.Raw(View(record.previous)).Number(record.seq.value());
  out.Text(record.audit_class).Text(record.code).Text(record.correlation_id);
  out.Number(record.revision.value()).Number(record.epoch.value()).Time(record.time);
  out.Number(record.data.size());
  for (const auto& [name, value] : record.data) out.Text(name).Text(value);
  return Sha256(out.bytes());
}

}  // namespace holdfast
