#include "server/rpc/read/item_reader.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/items.h"
#include "server/rpc/read/group_items.h"
#include "server/rpc/read/item_filters.h"
#include "server/rpc/read/page_size.h"
#include "server/rpc/read/page_token.h"
#include "session/guard.h"
#include "session/limits.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

// About what an item takes beside its name and its data.
constexpr size_t kItemShellBytes = 128;

}  // namespace

ItemReader::ItemReader(Sessions& sessions, Caller caller, pb::ReadItemsRequest request)
    : sessions_(sessions), caller_(std::move(caller)), request_(std::move(request)) {}

absl::StatusOr<std::vector<Bytes>> ItemReader::Next() {
  std::vector<Bytes> responses;
  if (phase_ == Phase::kEnd) return responses;
  if (phase_ == Phase::kPage) {
    RETURN_IF_ERROR(IsOfGroup(request_) ? ReadGroupPage() : ReadPage());
    phase_ = Phase::kItems;
  }
  size_t bytes = 0;
  while (!AllTaken() && bytes < kPageBytes) {
    pb::ReadItemsResponse response;
    size_t in_response = 0;
    while (!AllTaken() && in_response < kReadResponseBytes) in_response += AddPiece(response);
    bytes += in_response;
    responses.push_back(ToBytes(response));
  }
  if (AllTaken()) {
    items_.clear();
    session_of_.clear();
    next_ = 0;
    responses.push_back(ToBytes(end_));
    phase_ = Phase::kEnd;
  }
  return responses;
}

size_t ItemReader::HeldBytes() const {
  size_t bytes = 0;
  for (size_t i = next_; i < items_.size(); ++i) {
    bytes += sizeof(ItemView) + kItemShellBytes + items_[i].item.data.size();
  }
  return bytes;
}

absl::Status ItemReader::ReadPage() {
  ASSIGN_OR_RETURN(const SessionId session, ReadId<SessionId>("session_id", request_.session_id()));
  ASSIGN_OR_RETURN(RelatedQuery query, ReadItemQuery(request_));
  const ItemsRequest asked{.method = "ReadItems",
                           .key = {.tenant = caller_.tenant, .session = session},
                           .filters = FiltersOf(query)};
  ASSIGN_OR_RETURN(const std::optional<SessionUid> uid, ReadSessionUid(request_));
  std::optional<SessionUid> uid_before;
  const StoreDescription store = sessions_.store().Describe();
  if (!request_.page_token().empty()) {
    ASSIGN_OR_RETURN(PageEnd before, ReadItemsToken(store, asked, request_.page_token()));
    query.page.after = std::move(before.owner);
    uid_before = std::move(before.uid);
  }
  const PageLimit limit{.items = ItemsOfPage(request_.page_size()), .bytes = kPageBytes};
  ASSIGN_OR_RETURN(RelatedPage read, sessions_.ReadItems(caller_, session, query, limit));
  RETURN_IF_ERROR(CheckSameSession(read.page.uid, uid));
  RETURN_IF_ERROR(CheckSameSession(read.page.uid, uid_before));
  FindMissing(query.page, read.page);
  end_.set_items_version(read.page.items_version.value());
  if (!read.page.end && read.page.last) {
    end_.set_next_page_token(MakeItemsToken(
        store, asked,
        {.uid = read.page.uid, .revision = Revision(), .number = 0, .owner = *read.page.last}));
  }
  for (size_t i = 0; i < read.page.items.size(); ++i) {
    items_.push_back(std::move(read.page.items[i]));
    std::ranges::move(read.related[i], std::back_inserter(items_));
  }
  return absl::OkStatus();
}

absl::Status ItemReader::ReadGroupPage() {
  ASSIGN_OR_RETURN(GroupItems read, ReadGroupItems(sessions_, caller_, request_));
  for (SessionItems& of : read.sessions) {
    session_of_.resize(items_.size() + of.items.size(), named_.size());
    named_.push_back(std::move(of.session));
    std::ranges::move(of.items, std::back_inserter(items_));
  }
  for (std::string& id : read.unreadable) end_.add_unreadable_sessions(std::move(id));
  end_.set_next_page_token(std::move(read.next_page_token));
  return absl::OkStatus();
}

void ItemReader::NameSession(pb::ItemPiece& piece) const {
  if (session_of_.empty()) return;
  const NamedSession& session = named_[session_of_[next_]];
  piece.set_session_id(session.id.value());
  if (session.uid) piece.set_session_uid(session.uid->value());
}

void ItemReader::FindMissing(const ItemQuery& query, const ItemPage& page) {
  for (const std::string& key : query.keys) {
    const bool before = query.after && key <= *query.after;
    const bool behind = !page.end && (!page.last || key > *page.last);
    if (before || behind) continue;
    const bool found = std::ranges::any_of(
        page.items, [&](const ItemView& view) { return view.item.name.key == key; });
    if (!found) end_.add_missing_keys(key);
  }
}

size_t ItemReader::AddPiece(pb::ReadItemsResponse& out) {
  ItemView& view = items_[next_];
  const std::string& data = view.item.data.str();
  const size_t size = std::min<uint64_t>(data.size() - sent_, kChunkBytes);
  pb::ItemPiece& piece = *out.add_pieces();
  if (sent_ == 0) {
    Write(view.item, *piece.mutable_item());
    NameSession(piece);
  } else {
    piece.mutable_item()->set_collection(view.item.name.collection);
    piece.mutable_item()->set_key(view.item.name.key);
  }
  piece.mutable_item()->set_data(data.substr(sent_, size));
  piece.set_chunk_offset(sent_);
  piece.set_total_bytes(view.size);
  piece.set_damaged(view.damaged);
  sent_ += size;
  if (sent_ == data.size()) {
    view = ItemView();
    ++next_;
    sent_ = 0;
  }
  return size + kItemShellBytes + piece.item().key().size() + piece.session_id().size();
}

}  // namespace holdfast
