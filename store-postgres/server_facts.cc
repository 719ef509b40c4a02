#include "store-postgres/server_facts.h"

#include "absl/strings/str_cat.h"

#include <optional>

namespace holdfast::pg {
namespace {

constexpr int32_t kOldestServer = 150000;

}  // namespace

// The timeline is that of what is written now: the one in the control file may be a checkpoint
// behind. CASE keeps a standby from being asked, which has none.
//
// The last column is for the backend's allocator alone. glibc gives the top of the heap back to the
// system whenever 128 KiB of it are free, which each commit would meet, until a larger piece was
// freed once: from then on twice the size of that piece may stay. It is made of 4 KiB at a time: of
// single spaces it takes the backend some 25 ms.
constexpr Statement kServerFacts = {
    "connection_check_server",
    "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(), "
    "CASE WHEN pg_is_in_recovery() THEN 0 ELSE "
    "('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END, "
    "(SELECT system_identifier FROM pg_control_system()), "
    "coalesce(current_setting('holdfast.connection', true), '') = 'own', "
    "current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), "
    "current_setting('fsync'), current_setting('full_page_writes'), "
    "octet_length(repeat(repeat(' ', 4096), 1024))"};

constexpr Statement kStoreFacts = {
    "connection_check_store",
    "SELECT store_id, incarnation, system_identifier, holdfast.clock() FROM holdfast.store"};

Refusal RefusedAt(const std::string& peer, std::string_view why) {
  return StoreUnavailable(absl::StrCat("the database at ", peer, ": ", std::string(why)),
                          Fate::kNoEffect);
}

absl::Status CheckServer(const std::string& peer, const ServerFacts& server) {
  if (server.version_number < kOldestServer) {
    return RefusedAt(peer, "it is older than PostgreSQL 15");
  }
  if (server.is_standby) {
    return RefusedAt(peer,
                     "it is a standby, which takes no writes: name the primary, or all hosts with "
                     "target_session_attrs=read-write");
  }
  if (!server.has_our_settings) {
    return RefusedAt(
        peer,
        "the settings that a connection begins with do not arrive: a pooler in between "
        "drops them");
  }
  if (server.synchronous_commit == "off") {
    return RefusedAt(peer,
                     "synchronous_commit is off for this role or database, so that a crash would "
                     "lose what was acknowledged: set it to on");
  }
  return absl::OkStatus();
}

Refusal NoStore(const std::string& peer) {
  return RefusedAt(peer, "its table holdfast.store must have one row with an id");
}

absl::StatusOr<Identity> IdentityFrom(const std::string& peer, std::string_view store,
                                      int64_t incarnation) {
  std::optional<StoreId> id = StoreId::Parse(store);
  if (!id) return NoStore(peer);
  return Identity{.store = *std::move(id),
                  .incarnation = Incarnation(static_cast<uint64_t>(incarnation))};
}

}  // namespace holdfast::pg
