#include "server/rpc/admin_service.h"

#include "server/rpc/call/wire_counts.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/watch/watch_feed.h"
#include "session/refusal.h"

#include <cstdint>

namespace holdfast {
namespace {

pb::ResourceUse ResourcesToWire(const ResourceUse& use) {
  pb::ResourceUse wire;
  wire.set_memory_bytes(use.memory_bytes);
  wire.set_staged_bytes(use.staged_bytes);
  wire.set_streams(static_cast<uint32_t>(use.streams));
  wire.set_watchers(static_cast<uint32_t>(use.watchers));
  wire.set_connections(static_cast<uint32_t>(use.connections));
  const WireTotals requests = WireTotalsNow();
  wire.set_watch_reads(WatchReadsNow());
  wire.set_requests_refused_by_count(requests.refused);
  wire.set_requests_parsed(requests.parsed);
  return wire;
}

}  // namespace

AdminService::Reactor* AdminService::Status(Context* context, const Bytes* request,
                                            Bytes* response) {
  return RunUnary<pb::StatusRequest, pb::StatusResponse>(
      edge_, {"Status", context, request, response},
      [this](Call&, const pb::StatusRequest&, pb::StatusResponse& out) { return Describe(out); });
}

AdminService::Reactor* AdminService::Echo(Context* context, const Bytes* request, Bytes* response) {
  return RunUnary<pb::EchoRequest, pb::EchoResponse>(
      edge_, {"Echo", context, request, response},
      [this](Call&, const pb::EchoRequest& in, pb::EchoResponse& out) -> absl::Status {
        if (!facts_.echo) {
          return Refusal(Reason::kCapabilityMissing, "server.echo is false: Echo is not offered")
              .With("capability", "server.echo");
        }
        out.set_payload(in.payload());
        return absl::OkStatus();
      });
}

absl::Status AdminService::Describe(pb::StatusResponse& response) {
  const StoreDescription store = store_.Describe();
  const absl::Status health = store_.CheckHealth();
  response.set_version(facts_.version);
  *response.mutable_uptime() = ToWire(edge_.clock.SinceBoot() - facts_.started);
  response.set_store_name(facts_.store_name);
  response.set_store_kind(store.kind);
  response.set_store_id(store.store.value());
  response.set_incarnation(store.incarnation.value());
  response.set_serving(health.ok());
  if (!health.ok()) response.set_problem(RefusalOf(health).message());
  response.set_durability(store.durability);
  const ResourceUse use = resources_();
  response.set_calls_in_progress(static_cast<uint32_t>(use.calls));
  *response.mutable_resources() = ResourcesToWire(use);
  response.set_workers(static_cast<uint32_t>(edge_.pool.workers()));
  ListQuery any{.limit = 1};
  any.tenant = *TenantId::Parse("default");
  const absl::StatusOr<ListPage> page = store_.List(any);
  response.set_listing_incomplete(page.ok() && !page->complete);
  for (const std::string& warning : facts_.warnings) response.add_warnings(warning);
  for (const std::string& warning : store.warnings) response.add_warnings(warning);
  return absl::OkStatus();
}

}  // namespace holdfast
