#include "bench/etcd.h"

#include "bench/served.h"
#include "platform/status_macros.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

namespace holdfast::bench {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr char kProgram[] = "/usr/bin/etcd";
constexpr char kPut[] = "/etcdserverpb.KV/Put";
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kPause = std::chrono::milliseconds(50);
// Of protobuf's wire format: a field's number and its kind of value.
constexpr uint32_t kTypeBits = 3;
constexpr uint32_t kVarint = 0;
constexpr uint32_t kBytes = 2;
constexpr uint32_t TagOf(uint32_t field, uint32_t type) { return (field << kTypeBits) | type; }

// A PutRequest: the key is its first field and the value its second.
grpc::ByteBuffer PutRequest(const std::string& key, const std::string& value) {
  std::string message;
  {
    StringOutputStream stream(&message);
    CodedOutputStream out(&stream);
    uint32_t field = 0;
    for (const std::string* const text : {&key, &value}) {
      out.WriteTag(TagOf(++field, kBytes));
      out.WriteVarint32(static_cast<uint32_t>(text->size()));
      out.WriteString(*text);
    }
  }
  const grpc::Slice slice(message);
  return {&slice, 1};
}

// The revision in a PutResponse: the third field of its header, which is its first field.
uint64_t RevisionIn(const grpc::ByteBuffer& response) {
  grpc::Slice slice;
  if (!response.DumpToSingleSlice(&slice).ok()) return 0;
  CodedInputStream in(slice.begin(), static_cast<int>(slice.size()));
  uint32_t size = 0;
  if (in.ReadTag() != TagOf(1, kBytes) || !in.ReadVarint32(&size)) return 0;
  const auto limit = in.PushLimit(static_cast<int>(size));
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t value = 0;
    if (!in.ReadVarint64(&value)) break;
    if (tag == TagOf(3, kVarint)) return value;
  }
  in.PopLimit(limit);
  return 0;
}

// The revision that a put leaves; 0 when it was not taken.
uint64_t PutOnce(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  const grpc::ByteBuffer request = PutRequest("probe", "");
  grpc::ByteBuffer response;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, kPut, request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status.ok() ? RevisionIn(response) : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Etcd>> Etcd::Start(const std::string& directory,
                                                  const std::string& log) {
  std::filesystem::create_directories(directory);
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  // A member's sockets are files of the directory that it is started in.
  const std::string client = "client:1";
  const std::string peer = "unix://peer:1";
  ASSIGN_OR_RETURN(auto process,
                   ChildProcess::Launch(
                       {"/usr/bin/env", "-C", directory, kProgram, "--name=bench",
                        "--data-dir=data", "--listen-client-urls=unix://" + client,
                        "--advertise-client-urls=unix://" + client, "--listen-peer-urls=" + peer,
                        "--initial-advertise-peer-urls=" + peer, "--initial-cluster=bench=" + peer,
                        "--quota-backend-bytes=8589934592", "--log-level=error"},
                       log));
  auto etcd =
      std::make_unique<Etcd>(std::move(process), Connect("unix:" + directory + "/" + client));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (PutOnce(etcd->channel_) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      return absl::UnavailableError("etcd does not start: see " + log);
    }
    std::this_thread::sleep_for(kPause);
  }
  return etcd;
}

absl::Status Etcd::Count(uint64_t puts) {
  constexpr uint64_t kFirst = 1;   // an empty store's revision
  constexpr uint64_t kProbes = 2;  // at the start and now
  const uint64_t revision = PutOnce(channel_);
  if (revision == kFirst + kProbes + puts) return absl::OkStatus();
  return absl::FailedPreconditionError("etcd is at revision " + std::to_string(revision) +
                                       " after " + std::to_string(puts) + " puts");
}

PutSlot::PutSlot(const Etcd& etcd, std::string key, size_t bytes)
    : key_(std::move(key)), bytes_(bytes), stub_(etcd.channel()) {}

void PutSlot::Start(grpc::CompletionQueue& queue, void* tag) {
  const grpc::ByteBuffer request = PutRequest(key_, fresh_.Take(bytes_));
  call_.Start(queue, tag, [&](auto* context, auto* by) {
    auto reader = stub_.PrepareUnaryCall(context, kPut, request, by);
    reader->StartCall();
    return reader;
  });
}

absl::Status PutSlot::End() {
  if (!call_.status().ok()) return FailedCall("Put", call_.status());
  ++puts_;
  return absl::OkStatus();
}

}  // namespace holdfast::bench
