// A commit as a client streams it: announced, piece by piece, ended with its sum.
#ifndef HOLDFAST_TESTS_SUPPORT_STREAMED_COMMIT_H_
#define HOLDFAST_TESTS_SUPPORT_STREAMED_COMMIT_H_

#include "holdfast/v1/session_service.grpc.pb.h"
#include "platform/digest.h"
#include "session/limits.h"

#include <string>
#include <vector>

namespace holdfast::test {

namespace pb = ::holdfast::v1;

// The parts of `commit`, whose messages and slots go piece by piece, `piece` bytes each.
inline std::vector<pb::CommitTurnStreamRequest> PartsOf(pb::CommitTurnRequest commit,
                                                        size_t piece = kChunkBytes) {
  std::vector<pb::CommitTurnStreamRequest> parts(1);
  Sha256Stream sum;
  uint64_t bytes = 0;
  const auto add = [&](auto& item, auto begin) {
    const std::string data = item.data();
    sum.Add(data);
    bytes += data.size();
    item.set_data(data.substr(0, piece));
    begin(parts.emplace_back()) = item;
    for (size_t at = piece; at < data.size(); at += piece) {
      parts.emplace_back().set_chunk(data.substr(at, piece));
    }
  };
  for (pb::Message& message : *commit.mutable_messages()) {
    add(message, [](auto& part) -> pb::Message& { return *part.mutable_message(); });
  }
  for (pb::Slot& slot : *commit.mutable_slots()) {
    add(slot, [](auto& part) -> pb::Slot& { return *part.mutable_slot(); });
  }
  commit.clear_messages();
  commit.clear_slots();
  *parts.front().mutable_commit()->mutable_commit() = commit;
  parts.front().mutable_commit()->set_data_bytes(bytes);
  parts.emplace_back().mutable_end()->set_data_sha256(std::string(View(sum.Sum())));
  return parts;
}

// Sends `parts` on a stream of their own, as far as the server takes them.
inline grpc::Status Stream(pb::SessionService::Stub& sessions,
                           const std::vector<pb::CommitTurnStreamRequest>& parts,
                           pb::CommitTurnResponse* response) {
  grpc::ClientContext context;
  const auto writer = sessions.CommitTurnStream(&context, response);
  for (const auto& part : parts) {
    if (!writer->Write(part)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_STREAMED_COMMIT_H_
