#include "server/rpc/read/batch_reads.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/items.h"
#include "server/rpc/convert/session.h"
#include "session/guard.h"
#include "session/item_query.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/staged.h"
#include "session/validate.h"

#include "absl/status/statusor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// What a message, or the name of a slot or an item without its data, takes beside its texts.
constexpr size_t kContentShell = 128;

// One read of the request.
struct BatchRead {
  SessionKey key;
  std::optional<SessionUid> uid;
  std::set<std::string> owners;
  std::map<std::string, std::set<std::string>> items;  // keys by collection
  uint64_t tail = 0;                                   // messages
};

// What the names of its content take of a reply that has room for no more.
size_t NameBytes(const BatchRead& read) {
  size_t bytes = 0;
  for (const std::string& owner : read.owners) bytes += owner.size() + kContentShell;
  for (const auto& [collection, keys] : read.items) {
    for (const std::string& key : keys) bytes += collection.size() + key.size() + kContentShell;
  }
  return bytes;
}

// The same with the session that it found.
struct FoundSession {
  BatchRead read;
  Head head;
};

absl::StatusOr<BatchRead> ReadBatchRead(const Caller& caller, const std::string& path,
                                        const pb::SessionRead& asked) {
  ASSIGN_OR_RETURN(SessionId session, ReadId<SessionId>(path + "session_id", asked.session_id()));
  BatchRead read{.key = {.tenant = caller.tenant, .session = std::move(session)}};
  ASSIGN_OR_RETURN(read.uid, ReadOptionalId<SessionUid>(path + "session_uid", asked.session_uid()));
  const auto owners = static_cast<size_t>(asked.owners_size());
  if (owners > kSlotsPerRow) return TooLarge(path + "owners", kSlotsPerRow, owners);
  read.owners.insert(asked.owners().begin(), asked.owners().end());
  const auto items = static_cast<size_t>(asked.items_size());
  if (items > kItemsPerBatchRead) return TooLarge(path + "items", kItemsPerBatchRead, items);
  for (int i = 0; i < asked.items_size(); ++i) {
    const pb::ItemRef& ref = asked.items(i);
    RETURN_IF_ERROR(ValidateItemName(path + "items[" + std::to_string(i) + "]",
                                     {.collection = ref.collection(), .key = ref.key()}));
    read.items[ref.collection()].insert(ref.key());
  }
  read.tail = std::min(static_cast<uint64_t>(asked.tail_messages()), uint64_t{kPageMost});
  return read;
}

absl::StatusOr<FoundSession> FindSession(Sessions& sessions, const Caller& caller,
                                         const std::string& path, const pb::SessionRead& asked) {
  ASSIGN_OR_RETURN(BatchRead read, ReadBatchRead(caller, path, asked));
  ASSIGN_OR_RETURN(Head head, sessions.Get(caller, read.key.session));
  RETURN_IF_ERROR(CheckSameSession(head.uid, read.uid));
  return FoundSession{.read = std::move(read), .head = std::move(head)};
}

// What is too long for an id would only be sent back.
void WriteRefusal(const absl::Status& status, const CallFacts& call, const pb::SessionRead& asked,
                  pb::SessionReadResult& out) {
  const std::string session = asked.session_id().substr(0, kSessionIdBytes);
  out.Clear();
  out.set_session_id(session);
  *out.mutable_status() =
      ToRpcStatus(RefusalOf(status), {.trace_id = call.trace_id, .session = session});
}

// Brings the content of sessions into a reply, as long as it has room. Each kind is read by itself,
// so that it may be newer than the session that it belongs to.
class ContentReader {
 public:
  // Of a reply that has room for so many bytes of content, beside the names of all of it.
  ContentReader(SessionStore& store, size_t room) : store_(store), room_(room) {}

  absl::Status Fill(const FoundSession& found, pb::SessionReadResult& out) {
    RETURN_IF_ERROR(AddSlots(found, out));
    for (const auto& [collection, keys] : found.read.items) {
      ItemQuery query{.collection = collection, .keys = {keys.begin(), keys.end()}};
      query.data = true;
      RETURN_IF_ERROR(AddItems(found, query, out));
    }
    return AddMessages(found, out);
  }

 private:
  bool Take(uint64_t bytes) {
    if (bytes > room_) return false;
    room_ -= static_cast<size_t>(bytes);
    return true;
  }

  absl::Status AddSlots(const FoundSession& found, pb::SessionReadResult& out) {
    const BatchRead& read = found.read;
    if (read.owners.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(SlotPage page,
                     store_.ReadSlots(read.key, {.owners = {read.owners.begin(), read.owners.end()},
                                                 .most_bytes = room_}));
    RETURN_IF_ERROR(CheckSameSession(page.uid, found.head.uid));
    for (SlotView& view : page.slots) {
      const bool has_data = !view.damaged && !view.data_left_out;
      if (has_data && !Take(view.size)) view.data_left_out = true;
      if (view.data_left_out) {
        view.slot.data.clear();
      } else {
        RETURN_IF_ERROR(ResolveUpload(store_, read.key, view.slot));
      }
      Write(view, *out.add_slots());
    }
    return absl::OkStatus();
  }

  // Of one collection.
  absl::Status AddItems(const FoundSession& found, const ItemQuery& query,
                        pb::SessionReadResult& out) {
    const PageLimit limit{.items = kItemsPerBatchRead, .bytes = std::max<size_t>(room_, 1)};
    ASSIGN_OR_RETURN(const ItemPage page, store_.ReadItems(found.read.key, query, limit));
    RETURN_IF_ERROR(CheckSameSession(page.uid, found.head.uid));
    for (const ItemView& view : page.items) {
      pb::ItemView& item = *out.add_items();
      Write(view.item, *item.mutable_item());
      item.mutable_item()->set_data(view.item.data.str());
      item.set_damaged(view.damaged);
      if (!Take(item.ByteSizeLong())) LeaveOut(view.item.name, item);
      item.set_size(static_cast<int64_t>(view.size));
    }
    for (const std::string& key : query.keys) {
      const bool was_read = page.end || (page.last && key <= *page.last);
      if (!was_read) LeaveOut({.collection = query.collection, .key = key}, *out.add_items());
    }
    return absl::OkStatus();
  }

  static void LeaveOut(const ItemName& name, pb::ItemView& out) {
    out.Clear();
    out.mutable_item()->set_collection(name.collection);
    out.mutable_item()->set_key(name.key);
    out.set_left_out(true);
  }

  absl::Status AddMessages(const FoundSession& found, pb::SessionReadResult& out) {
    const Head& head = found.head;
    const uint64_t wanted = std::min(found.read.tail, head.messages.value());
    if (wanted == 0) return absl::OkStatus();
    const PageLimit limit{.items = static_cast<uint32_t>(wanted),
                          .bytes = std::max<size_t>(room_, 1)};
    const MessageSeq after(head.messages.value() - wanted);
    ASSIGN_OR_RETURN(MessagePage page,
                     store_.ReadMessages(found.read.key, std::nullopt, after, limit));
    RETURN_IF_ERROR(CheckSameSession(page.uid, head.uid));
    if (page.generation != head.generation) {
      return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
    }
    uint64_t shown = 0;
    for (Message& message : page.messages) {
      const uint64_t bytes =
          DataSize(message) + message.role.size() + message.content_type.size() + kContentShell;
      if (message.seq > head.messages || !Take(bytes)) break;
      RETURN_IF_ERROR(ResolveUpload(store_, found.read.key, message));
      Write(message, *out.add_messages());
      ++shown;
    }
    out.set_messages_left_out(static_cast<int64_t>(wanted - shown));
    return absl::OkStatus();
  }

  SessionStore& store_;
  size_t room_;
};

}  // namespace

absl::Status ServeBatchGetSessions(Sessions& sessions, Call& call,
                                   const pb::BatchGetSessionsRequest& request,
                                   pb::BatchGetSessionsResponse& response) {
  const auto count = static_cast<size_t>(request.reads_size());
  if (count > kSessionsPerBatch) return TooLarge("reads", kSessionsPerBatch, count);
  std::vector<absl::StatusOr<FoundSession>> found;
  size_t taken = 0;
  for (int i = 0; i < request.reads_size(); ++i) {
    RETURN_IF_ERROR(call.StillWanted());
    const std::string path = "reads[" + std::to_string(i) + "].";
    found.push_back(FindSession(sessions, call.caller(), path, request.reads(i)));
    pb::SessionReadResult& out = *response.add_results();
    if (found.back().ok()) {
      const FoundSession& session = *found.back();
      out.set_session_id(session.read.key.session.value());
      Write(session.read.key.session, session.head, *out.mutable_session());
      taken += NameBytes(session.read);
    } else {
      WriteRefusal(found.back().status(), call.facts(), request.reads(i), out);
    }
    taken += out.ByteSizeLong() + kContentShell;
  }
  ContentReader reader(sessions.store(), kPageBytes - std::min(taken, kPageBytes));
  for (int i = 0; i < request.reads_size(); ++i) {
    const absl::StatusOr<FoundSession>& session = found[static_cast<size_t>(i)];
    if (!session.ok()) continue;
    RETURN_IF_ERROR(call.StillWanted());
    pb::SessionReadResult& out = *response.mutable_results(i);
    const absl::Status filled = reader.Fill(*session, out);
    if (!filled.ok()) WriteRefusal(filled, call.facts(), request.reads(i), out);
  }
  return absl::OkStatus();
}

}  // namespace holdfast
