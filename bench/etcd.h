// The opponent that is a log with a key in front: etcd, one member, over gRPC.
#ifndef HOLDFAST_BENCH_ETCD_H_
#define HOLDFAST_BENCH_ETCD_H_

#include "bench/child_process.h"
#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/unary_call.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

// A member with its data below a directory of its own. Used by one thread.
class Etcd {
 public:
  // Starts it and waits until it takes a value. It serves at a socket file in `directory`, whose
  // path must be short.
  static absl::StatusOr<std::unique_ptr<Etcd>> Start(const std::string& directory,
                                                     const std::string& log);
  Etcd(std::unique_ptr<ChildProcess> process, std::shared_ptr<grpc::Channel> channel)
      : process_(std::move(process)), channel_(std::move(channel)) {}

  // FAILED_PRECONDITION unless it counts exactly `puts`, each of which is one revision.
  absl::Status Count(uint64_t puts);

  [[nodiscard]] const ChildProcess& process() const { return *process_; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  const std::unique_ptr<ChildProcess> process_;
  const std::shared_ptr<grpc::Channel> channel_;
};

// Puts fresh bytes under its own key.
class PutSlot final : public Slot {
 public:
  PutSlot(const Etcd& etcd, std::string key, size_t bytes);

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

  [[nodiscard]] uint64_t puts() const { return puts_; }  // acknowledged

 private:
  const std::string key_;
  const size_t bytes_;
  grpc::GenericStub stub_;
  FreshBytes fresh_;
  uint64_t puts_ = 0;
  UnaryCall<grpc::ByteBuffer> call_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_ETCD_H_
