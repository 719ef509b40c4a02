// A unary call whose change is committed together with those of others, where it can be.
#ifndef HOLDFAST_SERVER_RPC_CALL_BATCHED_CALL_H_
#define HOLDFAST_SERVER_RPC_CALL_BATCHED_CALL_H_

#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/rpc/call/call.h"
#include "server/rpc/call/commit_batcher.h"
#include "server/rpc/call/unary.h"
#include "server/rpc/call/unary_command.h"
#include "server/rpc/call/unary_reactor.h"
#include "server/rpc/convert/replies.h"
#include "session/refusal.h"
#include "session/sessions.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <optional>
#include <utility>

namespace holdfast {

// How a command is read from its request, and served where its change is not committed with others.
template <typename Request, typename Asked, typename UseCase>
struct BatchedMethod {
  absl::StatusOr<Asked> (*to_command)(Request&&);
  UseCase use_case;  // of Sessions
};

template <typename Request, typename Response, typename Asked, typename UseCase>
class BatchedReactor final : public UnaryReactor, private CommitBatcher::Member {
 public:
  // All must outlive it.
  BatchedReactor(Edge& edge, Sessions& sessions, const Unary& unary,
                 BatchedMethod<Request, Asked, UseCase> method)
      : UnaryReactor(edge, *unary.context),
        edge_(edge),
        sessions_(sessions),
        unary_(unary),
        method_(method),
        call_(edge, *unary.context, InfoOf(unary)) {}

  void Start() {
    if (!Enter(call_)) return;
    if (!edge_.batcher->Add(*this, unary_.request->Length())) {
      Answer(call_, Overloaded("limits.queued_calls"));
    }
  }

 private:
  std::optional<GroupedChange> Decide() override {
    const absl::Status status = call_.RunIfWanted([this] { return ReadAndDecide(); });
    if (!status.ok()) {
      End(status);
      return std::nullopt;
    }
    if (prepared_) return GroupedChange{.change = &prepared_->change, .span = call_.span()};
    DoAlone(false);
    return std::nullopt;
  }

  void Settle(GroupedResult result) override {
    using Kind = GroupedResult::Kind;
    if (result.kind != Kind::kDone) return DoAlone(result.kind == Kind::kInDoubt);
    End(call_.Run([&]() -> absl::Status {
      ASSIGN_OR_RETURN(const auto answer,
                       sessions_.Settle(*command_, *prepared_, std::move(result.result)));
      Response response;
      WriteReply(answer, response);
      SetReply(unary_, call_, response);
      return absl::OkStatus();
    }));
  }

  absl::Status ReadAndDecide() {
    Received<Request> request;
    RETURN_IF_ERROR(call_.Receive(*unary_.request, request));
    call_.NameSession(SessionIn(*request));
    ASSIGN_OR_RETURN(command_, method_.to_command(std::move(*request)));
    prepared_ = sessions_.Prepare(call_.caller(), *command_);
    return absl::OkStatus();
  }

  void DoAlone(bool in_doubt) {
    prepared_.reset();
    edge_.pool.SubmitAgain([this, in_doubt] {
      End(call_.RunAlone(in_doubt, [this]() -> absl::Status {
        Response response;
        RETURN_IF_ERROR(
            ServeCommand(sessions_, call_.caller(), *command_, method_.use_case, response));
        SetReply(unary_, call_, response);
        return absl::OkStatus();
      }));
    });
  }

  void End(const absl::Status& status) {
    // What they hold is not needed while the reply leaves.
    prepared_.reset();
    command_.reset();
    if (!status.ok()) call_.HoldReply(0);
    Answer(call_, status);
  }

  Edge& edge_;
  Sessions& sessions_;
  const Unary unary_;
  const BatchedMethod<Request, Asked, UseCase> method_;
  Call call_;
  std::optional<Asked> command_;
  std::optional<PreparedChange> prepared_;
};

// As RunCommand: together with other calls if there is a batcher and the request is small.
template <typename Response, typename Request, typename Asked, typename UseCase>
grpc::ServerUnaryReactor* RunBatched(Edge& edge, Sessions& sessions, const Unary& unary,
                                     absl::StatusOr<Asked> (*to_command)(Request&&),
                                     UseCase use_case) {
  if (edge.batcher == nullptr || unary.request->Length() > kBatchedRequestBytes) {
    return RunCommand<Response>(edge, sessions, unary, to_command, use_case);
  }
  const TransportThread here;
  auto* const reactor = MakeReactor<BatchedReactor<Request, Response, Asked, UseCase>>(
      edge, sessions, unary, BatchedMethod<Request, Asked, UseCase>{to_command, use_case});
  reactor->Start();
  return reactor;
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_BATCHED_CALL_H_
