#include "store-postgres/pg/keywords.h"

#include "platform/status_macros.h"
#include "store-postgres/pg/dsn.h"
#include "store-postgres/pg/libpq.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <libpq-fe.h>
#include <string_view>

namespace holdfast::pg {
namespace {

// In PostgreSQL's settings 0 means no timeout.
int64_t Milliseconds(absl::Duration timeout) {
  return timeout == absl::InfiniteDuration() ? 0 : absl::ToInt64Milliseconds(timeout);
}

// Each statement has one good plan, along its keys, however small its tables are when it is planned
// and however large when it is carried out.
constexpr char kPlanSettings[] =
    " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off"
    " -c enable_mergejoin=off -c jit=off";

// What every connection of ours has set from its first moment.
std::string SessionSettings(const ConnectOptions& options) {
  const int64_t timeout = Milliseconds(options.statement_timeout);
  return absl::StrCat("-c statement_timeout=", timeout,
                      " -c idle_in_transaction_session_timeout=", timeout,
                      // The warning that a wait for the standby was cut short must arrive.
                      " -c client_min_messages=warning"
                      " -c default_transaction_isolation=read\\ committed",
                      " -c standard_conforming_strings=on -c search_path=holdfast -c timezone=UTC"
                      " -c holdfast.connection=own",
                      kPlanSettings);
}

// As libpq reads a value of a connection string.
std::string Quoted(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

}  // namespace

// The dsn's own keywords, then ours, of which a later one wins; the dsn's `options` stay.
absl::StatusOr<Keywords> KeywordsOf(const ConnectOptions& options) {
  char* error = nullptr;
  const ConninfoOptions parsed(PQconninfoParse(options.dsn.c_str(), &error));
  if (parsed == nullptr) {
    const std::string why = Trimmed(error);
    PQfreemem(error);
    return absl::InvalidArgumentError(why);
  }
  Keywords keywords;
  // Of several hosts the one that takes writes, unless the dsn says something else.
  if (options.dsn.find(',') != std::string::npos) {
    keywords.Set("target_session_attrs", "read-write");
  }
  // A peer that is gone without a word is noticed also where no answer is waited for.
  keywords.Set("keepalives_idle", "5");
  keywords.Set("keepalives_interval", "5");
  keywords.Set("keepalives_count", "2");
  keywords.Set("tcp_user_timeout", "15000");
  std::string settings = SessionSettings(options);
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;  // not said, and without a default
    const std::string_view keyword = option->keyword;
    if (keyword == "options") {
      settings = absl::StrCat(option->val, " ", settings);
    } else if (keyword == "host" || keyword == "hostaddr" || keyword == "port") {
      keywords.Set(option->keyword, Rotated(option->val, options.first_host));
    } else {
      keywords.Set(option->keyword, option->val);
    }
  }
  const int64_t seconds = std::max<int64_t>(2, absl::ToInt64Seconds(options.connect_timeout));
  keywords.Set("connect_timeout", std::to_string(seconds));
  keywords.Set("options", settings);
  keywords.Set("client_encoding", "UTF8");
  keywords.Set("fallback_application_name", options.application_name);
  if (!options.password.empty()) keywords.Set("password", options.password);
  return keywords;
}

absl::StatusOr<std::string> ConnectionString(const ConnectOptions& options) {
  ASSIGN_OR_RETURN(const Keywords keywords, KeywordsOf(options));
  std::string text;
  for (size_t i = 0; i < keywords.names.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", keywords.names[i], "=", Quoted(keywords.values[i]));
  }
  return text;
}

}  // namespace holdfast::pg
