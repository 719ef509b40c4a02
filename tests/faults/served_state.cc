#include "tests/faults/served_state.h"

#include "holdfast/v1/item_service.grpc.pb.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include <map>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using Stub = holdfast::v1::SessionService::Stub;

std::map<std::string, std::string> ServedItems(v1::ItemService::Stub& items,
                                               const SessionKey& key) {
  std::map<std::string, std::string> found;
  v1::ReadItemsRequest request;
  request.set_session_id(key.session.value());
  request.set_collection(kWorkItems);
  request.set_page_size(1000);
  grpc::ClientContext context;
  const auto reader = items.ReadItems(&context, request);
  for (v1::ReadItemsResponse response; reader->Read(&response);) {
    for (const v1::ItemPiece& piece : response.pieces()) {
      found[piece.item().key()] += piece.item().data();
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  return found;
}

absl::StatusOr<Found> FindServed(testing::WireClient& client, v1::ItemService::Stub& items,
                                 const SessionKey& key) {
  Found found;
  v1::GetSessionRequest get;
  get.set_session_id(key.session.value());
  const auto session = client.Ask(&Stub::GetSession, get);
  if (session.verdict.reason == "SESSION_NOT_FOUND") return found;
  found.deleted = session.verdict.reason == "TOMBSTONED";
  if (found.deleted) return found;
  if (session.verdict.reason != "OK") return absl::UnknownError(session.verdict.reason);
  found.exists = true;
  found.entries = session.reply.session().journal_number();
  v1::ListMessagesRequest messages;
  messages.set_session_id(key.session.value());
  const auto history = client.Must(&Stub::ListMessages, messages);
  for (const auto& message : history.messages()) {
    found.messages.push_back(message.data());
  }
  v1::ListSlotsRequest slots;
  slots.set_session_id(key.session.value());
  const auto stored = client.Must(&Stub::ListSlots, slots);
  for (const auto& slot : stored.slots()) {
    if (slot.owner() != kStoreSlotOwner) found.slots[slot.owner()] = slot.data();
  }
  found.items = ServedItems(items, key);
  return found;
}

}  // namespace

std::string CheckServed(const MemoryDisk& disk, const Workload& workload) {
  const testing::TestFolder folder;
  disk.CopyTo(folder.File("data"));
  testing::ServerProcess server(folder);
  if (!server.Adopt()) return "it is not adopted: " + server.Log();
  if (!server.Start()) return "it is not served: " + server.Log();
  testing::WireClient client(server.address());
  const auto items = v1::ItemService::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  return workload.Check([&](const SessionKey& key) { return FindServed(client, *items, key); });
}

}  // namespace holdfast::test
