#include "tests/faults/served_state.h"

#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

namespace holdfast::test {
namespace {

using Stub = holdfast::v1::SessionService::Stub;

absl::StatusOr<Found> FindServed(testing::WireClient& client, const SessionKey& key) {
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
  return workload.Check([&](const SessionKey& key) { return FindServed(client, key); });
}

}  // namespace holdfast::test
