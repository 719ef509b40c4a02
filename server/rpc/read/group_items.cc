#include "server/rpc/read/group_items.h"

#include "platform/encoding.h"
#include "platform/status_macros.h"
#include "server/rpc/convert/items.h"
#include "server/rpc/read/item_filters.h"
#include "server/rpc/read/page_size.h"
#include "server/rpc/read/page_token.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/validate.h"

#include "absl/time/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

// After which a listing that is not complete is worth another try.
constexpr absl::Duration kGroupListingRetry = absl::Seconds(1);

absl::StatusOr<ListQuery> ReadGroupQuery(const Caller& caller,
                                         const pb::ReadItemsRequest& request) {
  const bool is_prefix = !request.group_prefix().empty();
  if (is_prefix && !request.group().empty()) {
    return InvalidField("group_prefix", "does not go with group");
  }
  for (const auto& [field, is_set] : {std::pair("session_id", !request.session_id().empty()),
                                      std::pair("session_uid", !request.session_uid().empty()),
                                      std::pair("ancestors_of", !request.ancestors_of().empty())}) {
    if (is_set) return InvalidField(field, "must be left out beside group and group_prefix");
  }
  ListQuery query{.tenant = caller.tenant, .project_root = ""};
  query.group = is_prefix ? request.group_prefix() : request.group();
  query.group_is_prefix = is_prefix;
  RETURN_IF_ERROR(ValidateGroup(is_prefix ? "group_prefix" : "group", query.group));
  return query;
}

// Items of a page of `related` that a request of this size asks for.
uint32_t ItemsOfGroupPage(int32_t page_size, const RelatedQuery& related) {
  const uint32_t items = ItemsOfPage(page_size);
  const bool is_range = related.page.keys.empty() && related.page.labels.empty();
  return related.attached.empty() || is_range ? items : std::min(items, kItemsWithAttached);
}

std::string GroupFiltersOf(const ListQuery& list, const RelatedQuery& related) {
  Encoder out;
  out.Text(list.group).Number(list.group_is_prefix ? 1 : 0).Text(FiltersOf(related));
  return out.Take();
}

// Whether a session went between its row of the listing and its read.
bool IsGone(const absl::Status& status) {
  return Is(status, Reason::kTombstoned) || Is(status, Reason::kSessionNotFound);
}

// Whether a session cannot be read while the others can.
bool IsUnreadableSession(const absl::Status& status) {
  return Is(status, Reason::kDamaged) || Is(status, Reason::kManifestDrift) ||
         Is(status, Reason::kResumeMismatch);
}

// Takes up to `taken` of what is left.
template <typename Count>
void TakeFrom(Count& left, uint64_t taken) {
  left -= static_cast<Count>(std::min<uint64_t>(left, taken));
}

size_t BytesOf(const ItemPage& page) {
  size_t bytes = 0;
  for (const ItemView& view : page.items) bytes += ItemBytes(view.item);
  return bytes;
}

size_t RelatedBytesOf(const RelatedPage& read) {
  size_t bytes = 0;
  for (const std::vector<ItemView>& of_item : read.related) {
    for (const ItemView& view : of_item) bytes += sizeof(ItemView) + ItemBytes(view.item);
  }
  return bytes;
}

// One page while it is read.
class GroupReading {
 public:
  // `sessions` and `caller` outlive it.
  GroupReading(Sessions& sessions, const Caller& caller, ListQuery list, RelatedQuery query,
               uint32_t items)
      : sessions_(sessions),
        caller_(caller),
        list_(std::move(list)),
        query_(std::move(query)),
        items_left_(items) {}

  // Begins behind the end of the page before: reads what is left of its last session.
  absl::Status GoOnBehind(const GroupEnd& before) {
    end_ = before;
    list_.after = before.session;
    if (!before.uid) return absl::OkStatus();
    const NamedSession session{.id = SessionId::Parse(before.session.id).value_or(SessionId()),
                               .uid = before.uid};
    return ReadSession(before.session, session, before.key).status();
  }

  // Reads the sessions of the listing as long as the page has room.
  absl::Status ReadOn() {
    while (HasRoom()) {
      list_.limit = sessions_left_;
      ASSIGN_OR_RETURN(const ListPage listed, sessions_.store().List(list_));
      if (!listed.complete) {
        return StoreUnavailable("the store is still finding out what it holds: ask again",
                                Fate::kNoEffect)
            .RetryAfter(kGroupListingRetry);
      }
      ASSIGN_OR_RETURN(const bool all, ReadRows(listed.rows));
      if (!all) return absl::OkStatus();
      if (listed.end || listed.rows.empty()) {
        end_.reset();
        return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  // Behind which the next page goes on; nothing where all was read.
  [[nodiscard]] const std::optional<GroupEnd>& end() const { return end_; }
  GroupItems Take() { return std::move(page_); }

 private:
  [[nodiscard]] bool HasRoom() const {
    const bool is_cut = end_ && end_->uid;
    return !is_cut && !is_full_ && items_left_ > 0 && bytes_left_ > 0 && related_left_ > 0 &&
           look_left_ > 0 && sessions_left_ > 0;
  }

  // Answers whether all of them were read to their end.
  absl::StatusOr<bool> ReadRows(const std::vector<SessionRow>& rows) {
    for (const SessionRow& row : rows) {
      if (!HasRoom()) return false;
      const ListKey place{.created_at = row.created_at,
                          .id = row.id.value(),
                          .group = list_.group_is_prefix ? row.group : ""};
      if (row.condition == SessionRow::Condition::kOk) {
        ASSIGN_OR_RETURN(const bool all, ReadSession(place, {.id = row.id, .uid = row.uid}, {}));
        if (!all) return false;
      } else {
        TakeFrom(sessions_left_, 1);
        Skip(place, row.id);
      }
      list_.after = place;
    }
    return true;
  }

  // Reads what the page has room for of the session at `place`, behind the item of `after`. Answers
  // whether nothing of it is left.
  absl::StatusOr<bool> ReadSession(const ListKey& place, const NamedSession& session,
                                   std::optional<std::string> after) {
    TakeFrom(sessions_left_, 1);
    query_.page.after = std::move(after);
    query_.page.look_most = look_left_;
    absl::StatusOr<RelatedPage> read = sessions_.ReadItems(
        caller_, session.id, query_, {.items = items_left_, .bytes = bytes_left_});
    if (IsUnreadableSession(read.status())) {
      Skip(place, session.id);
      return true;
    }
    if (IsGone(read.status()) || (read.ok() && read->page.uid != session.uid)) {
      end_ = GroupEnd{.session = place, .uid = std::nullopt, .key = ""};
      return true;
    }
    // What is refused where it is the first of a page ends the page before it.
    const bool is_empty = page_.sessions.empty();
    if (!read.ok() && (is_empty || !Is(read.status(), Reason::kTooLarge))) return read.status();
    const bool has_room =
        read.ok() && BytesOf(read->page) <= bytes_left_ && RelatedBytesOf(*read) <= related_left_;
    if (!is_empty && !has_room) {
      is_full_ = true;
      return false;
    }
    Add(place, session, *std::move(read));
    return !end_->uid;
  }

  void Add(const ListKey& place, const NamedSession& session, RelatedPage read) {
    TakeFrom(items_left_, read.page.items.size());
    TakeFrom(bytes_left_, BytesOf(read.page));
    TakeFrom(related_left_, RelatedBytesOf(read));
    if (!query_.page.labels.empty()) TakeFrom(look_left_, read.page.looked_at);
    end_ = GroupEnd{.session = place, .uid = std::nullopt, .key = ""};
    if (!read.page.end && read.page.last) {
      end_->uid = read.page.uid;
      end_->key = *std::move(read.page.last);
    }
    if (read.page.items.empty()) return;
    SessionItems& added =
        page_.sessions.emplace_back(SessionItems{.session = session, .items = {}});
    for (size_t i = 0; i < read.page.items.size(); ++i) {
      added.items.push_back(std::move(read.page.items[i]));
      std::ranges::move(read.related[i], std::back_inserter(added.items));
    }
  }

  void Skip(const ListKey& place, const SessionId& session) {
    page_.unreadable.push_back(session.value());
    end_ = GroupEnd{.session = place, .uid = std::nullopt, .key = ""};
  }

  Sessions& sessions_;
  const Caller& caller_;
  ListQuery list_;
  RelatedQuery query_;
  uint32_t items_left_;
  size_t bytes_left_ = kPageBytes;
  size_t related_left_ = kRelatedItemBytes;
  uint32_t look_left_ = kItemsLookedAt;
  uint32_t sessions_left_ = kSessionsPerItemPage;
  bool is_full_ = false;  // the next session has no room beside those before it
  std::optional<GroupEnd> end_;
  GroupItems page_;
};

}  // namespace

bool IsOfGroup(const pb::ReadItemsRequest& request) {
  return !request.group().empty() || !request.group_prefix().empty();
}

absl::StatusOr<GroupItems> ReadGroupItems(Sessions& sessions, const Caller& caller,
                                          const pb::ReadItemsRequest& request) {
  ASSIGN_OR_RETURN(ListQuery list, ReadGroupQuery(caller, request));
  ASSIGN_OR_RETURN(RelatedQuery query, ReadItemQuery(request));
  // Also where the group has no session.
  RETURN_IF_ERROR(Validate(query));
  const StoreDescription store = sessions.store().Describe();
  const ItemsRequest asked{.method = "ReadItems of a group",
                           .key = {.tenant = caller.tenant, .session = SessionId()},
                           .filters = GroupFiltersOf(list, query)};
  const uint32_t items = ItemsOfGroupPage(request.page_size(), query);
  GroupReading reading(sessions, caller, std::move(list), std::move(query), items);
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(const GroupEnd before, ReadGroupToken(store, asked, request.page_token()));
    RETURN_IF_ERROR(reading.GoOnBehind(before));
  }
  RETURN_IF_ERROR(reading.ReadOn());
  GroupItems page = reading.Take();
  if (reading.end()) page.next_page_token = MakeGroupToken(store, asked, *reading.end());
  return page;
}

}  // namespace holdfast
