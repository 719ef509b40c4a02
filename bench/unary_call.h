// One unary call at a time, whose answer comes by a queue.
#ifndef HOLDFAST_BENCH_UNARY_CALL_H_
#define HOLDFAST_BENCH_UNARY_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>
#include <optional>

namespace holdfast::bench {

template <typename Response>
class UnaryCall {
 public:
  using Reader = grpc::ClientAsyncResponseReader<Response>;

  // `begin` gets a context and a queue, starts the call with them and returns its reader. `tag`
  // comes by the queue once, when the call has ended.
  template <typename Begin>
  void Start(grpc::CompletionQueue& queue, void* tag, Begin begin) {
    reader_.reset();  // it is allocated in its context
    context_.emplace();
    reader_ = begin(&*context_, &queue);
    reader_->Finish(&response_, &status_, tag);
  }

  // Of the call that ended last.
  [[nodiscard]] const grpc::Status& status() const { return status_; }
  [[nodiscard]] const Response& response() const { return response_; }

 private:
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<Reader> reader_;
  Response response_;
  grpc::Status status_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_UNARY_CALL_H_
