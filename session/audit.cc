#include "session/audit.h"

#include "platform/encoding.h"

#include <string>
#include <utility>

namespace holdfast {

Digest AuditHash(const AuditRecord& record) {
  Encoder out;
  out.Raw(View(record.previous));
  // Where the first version has the record's number, which is never 0.
  const bool traced = record.version == AuditVersion::kWithTrace;
  if (traced) out.Number(0).Number(static_cast<uint64_t>(record.version)).Text(record.trace_id);
  out.Number(record.seq.value());
  out.Text(record.audit_class).Text(record.code).Text(record.correlation_id);
  out.Number(record.revision.value()).Number(record.epoch.value()).Time(record.time);
  out.Number(record.data.size());
  for (const auto& [name, value] : record.data) out.Text(name).Text(value);
  return Sha256(out.bytes());
}

bool AuditChain::Take(const AuditRecord& record) {
  if (!why_.empty()) return false;
  if (record.seq != records_.Next()) {
    Fail("another record, number " + std::to_string(record.seq.value()) + ", is in its place");
  } else if (record.hash != AuditHash(record)) {
    Fail("its content is not what its hash covers");
  } else if (record.previous != last_) {
    Fail("it does not follow the record before it");
  } else {
    records_ = record.seq;
    before_ = std::exchange(last_, record.hash);
  }
  return why_.empty();
}

void AuditChain::Fail(std::string why) {
  if (why_.empty()) why_ = std::move(why);
}

void AuditChain::ExpectEnd(const Digest& last) {
  if (!why_.empty() || last_ == last) return;
  // The head names another last record: this one was put in its place.
  if (records_ > AuditSeq()) records_ = AuditSeq(records_.value() - 1);
  last_ = before_;
  Fail("it is not the last record that the session's head names");
}

}  // namespace holdfast
