#include "server/rpc/unary_reactor.h"

#include <utility>

namespace holdfast {

UnaryReactor* UnaryReactor::Start(Edge& edge, grpc::CallbackServerContext& context, CallInfo info) {
  return new UnaryReactor(edge, context, std::move(info));
}

UnaryReactor::UnaryReactor(Edge& edge, grpc::CallbackServerContext& context, CallInfo info)
    : call_(edge, context, std::move(info)),
      resets_(edge.resets),
      connection_(resets_ == nullptr ? "" : context.peer()) {
  if (resets_ != nullptr) resets_->Enter(connection_, edge.clock.SinceBoot());
}

void UnaryReactor::OnDone() {
  if (resets_ != nullptr) resets_->Leave(connection_);
  delete this;
}

}  // namespace holdfast
