#include "server/rpc/store_service.h"

#include "platform/status_macros.h"
#include "server/rpc/call/batched_call.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/convert/replies.h"
#include "server/rpc/read/read_session_reactor.h"
#include "server/rpc/write/streamed_write_reactor.h"
#include "session/refusal.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast {
namespace {

absl::Status Describe(const SessionStore& store, pb::DescribeStoreResponse& out) {
  const StoreDescription description = store.Describe();
  out.set_kind(description.kind);
  out.set_contract_version(description.contract_version);
  out.set_required_core_version(description.required_core_version);
  out.set_store_id(description.store.value());
  out.set_incarnation(description.incarnation.value());
  out.set_config_schema(description.config_schema);
  pb::StoreCapabilities& can = *out.mutable_capabilities();
  can.set_journaling(description.journaling);
  can.set_snapshot_bytes_limit(description.snapshot_bytes_limit);
  can.set_large_slot_streaming(description.large_slot_streaming);
  can.set_concurrent_readers(description.concurrent_readers);
  // The same for every store: exactly one of those that are loaded is active, as long as the
  // process lives.
  out.set_loaded_cardinality(pb::STORE_CARDINALITY_UNLIMITED);
  out.set_active_cardinality(pb::STORE_CARDINALITY_ONE);
  out.set_reload_behavior(pb::STORE_RELOAD_BEHAVIOR_NEVER);
  out.set_durability(description.durability);
  return absl::OkStatus();
}

// What is wrong with the store is the answer and no refusal of the call.
absl::Status Check(SessionStore& store, SharedStoreCheck& shared, const TenantId& tenant,
                   pb::CheckStoreResponse& out) {
  const absl::Status health = store.CheckHealth();
  out.set_reachable(health.ok());
  const absl::StatusOr<StoreCheck> check = health.ok() ? shared.Get() : health;
  if (Is(check.status(), Reason::kOverloaded)) return check.status();
  out.set_writable(check.ok());
  if (!check.ok()) {
    out.set_diagnostic(RefusalOf(check.status()).message());
    return absl::OkStatus();
  }
  for (const SessionKey& key : check->reappeared) {
    if (key.tenant == tenant) out.add_reappeared_session_ids(key.session.value());
  }
  return absl::OkStatus();
}

}  // namespace

StoreService::Reactor* StoreService::DescribeStore(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return RunUnary<pb::DescribeStoreRequest, pb::DescribeStoreResponse>(
      edge_, {"DescribeStore", context, request, response},
      [this](Call&, const pb::DescribeStoreRequest&, pb::DescribeStoreResponse& out) {
        return Describe(sessions_.store(), out);
      });
}

StoreService::Reactor* StoreService::CheckStore(Context* context, const Bytes* request,
                                                Bytes* response) {
  return RunUnary<pb::CheckStoreRequest, pb::CheckStoreResponse>(
      edge_, {"CheckStore", context, request, response},
      [this](Call& call, const pb::CheckStoreRequest&, pb::CheckStoreResponse& out) {
        return Check(sessions_.store(), check_, call.caller().tenant, out);
      });
}

StoreService::Reactor* StoreService::WriteSnapshot(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return RunBatched<pb::WriteSnapshotResponse>(
      edge_, sessions_, {"WriteSnapshot", context, request, response}, ReadWrite, &Sessions::Write);
}

grpc::ServerReadReactor<Bytes>* StoreService::WriteSnapshotStream(Context* context,
                                                                  Bytes* response) {
  return StartWriteStream(edge_, sessions_, context, response);
}

grpc::ServerWriteReactor<Bytes>* StoreService::ReadSnapshot(Context* context,
                                                            const Bytes* request) {
  return StartRead(edge_, sessions_, context, *request);
}

}  // namespace holdfast
