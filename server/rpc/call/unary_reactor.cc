#include "server/rpc/call/unary_reactor.h"

namespace holdfast {

UnaryReactor::UnaryReactor(Edge& edge, grpc::CallbackServerContext& context)
    : edge_(edge),
      transport_call_(context.c_call()),
      connection_(edge.resets == nullptr ? "" : context.peer()) {
  if (edge.resets != nullptr) edge.resets->Enter(connection_, edge.clock.SinceBoot());
}

// One that was given up already takes no place in the queue from others.
bool UnaryReactor::Enter(Call& call) {
  absl::Status entered = call.Enter();
  if (entered.ok() && call.GivenUp()) entered = call.StillWanted();
  if (!entered.ok()) Answer(call, entered);
  return entered.ok();
}

void UnaryReactor::Answer(Call& call, const absl::Status& status) { Answer(call.End(status)); }

void UnaryReactor::Answer(const grpc::Status& status) {
  if (edge_.replies != nullptr) edge_.replies->Add(transport_call_, edge_.clock.SinceBoot());
  Finish(status);
}

void UnaryReactor::OnDone() {
  if (edge_.replies != nullptr) edge_.replies->Remove(transport_call_);
  if (edge_.resets != nullptr) edge_.resets->Leave(connection_);
  delete this;
}

}  // namespace holdfast
