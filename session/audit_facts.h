// What an audit record keeps of the facts that a client gives.
#ifndef HOLDFAST_SESSION_AUDIT_FACTS_H_
#define HOLDFAST_SESSION_AUDIT_FACTS_H_

#include <map>
#include <string>
#include <string_view>

namespace holdfast {

using AuditFacts = std::map<std::string, std::string>;

// Names of facts that begin with it are the server's own, and no client may give one.
inline constexpr std::string_view kOwnFactPrefix = "holdfast.";
// Followed by the name of a fact whose value was cut: how many bytes were left out, in decimal.
inline constexpr std::string_view kCutFactPrefix = "holdfast.cut.";

// The facts with each value over kAuditValueBytes cut to that, at the border of a character of
// UTF-8, and with a fact of kCutFactPrefix beside it.
AuditFacts CutLongFacts(AuditFacts facts);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_AUDIT_FACTS_H_
