// The audit chain: each record's hash covers the one before, so that a changed, removed, swapped or
// inserted record is seen.
#ifndef HOLDFAST_SESSION_AUDIT_H_
#define HOLDFAST_SESSION_AUDIT_H_

#include "platform/digest.h"
#include "session/ids.h"
#include "session/model.h"

namespace holdfast {

// The hash that `record` must carry, from its `previous` and everything else in it but `hash`.
Digest AuditHash(const AuditRecord& record);

// Takes the records of a chain one after the other, from the first on, and says which one is the
// first that is not what was written.
class AuditChain {
 public:
  // Whether `record` is the next one; nothing is taken after one that is not.
  bool Take(const AuditRecord& record);
  // The next one is not there, for this reason.
  void Fail(std::string why);
  // The chain must end here, with this hash.
  void ExpectEnd(const Digest& last);

  [[nodiscard]] AuditSeq records() const { return records_; }    // taken
  [[nodiscard]] const Digest& last() const { return last_; }     // hash of the last one taken
  [[nodiscard]] const std::string& why() const { return why_; }  // of the failure; empty: none

 private:
  AuditSeq records_;
  Digest before_{};  // hash of the last but one
  Digest last_{};
  std::string why_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_AUDIT_H_
