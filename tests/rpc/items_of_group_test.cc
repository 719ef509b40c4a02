// ReadItems over the sessions of a group, over the wire.
#include "holdfast/v1/item_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using GroupStub = pb::SessionService::Stub;

std::string RefusedField(const grpc::Status& status) {
  const google::rpc::ErrorInfo info = ErrorInfoOf(DetailsOf(status));
  const auto found = info.metadata().find("field");
  return found == info.metadata().end() ? "" : found->second;
}

// One page: `SESSION/KEY` of each item.
struct GroupPage {
  grpc::Status status;
  std::vector<std::string> names;
  std::vector<std::string> uids;   // of the sessions, one for each item
  std::vector<std::string> bytes;  // of each item
  pb::ReadItemsResponse end;
};

class ItemsOfGroupRpc : public Served {
 protected:
  // A session of kind OPEN with these keys; answers its uid.
  std::string Fill(const std::string& group, const std::string& id,
                   const std::vector<std::string>& keys, const std::string& replaces = "") {
    pb::CreateSessionRequest create = CreateRequest(id);
    create.set_kind(pb::SESSION_KIND_OPEN);
    create.clear_holder();
    create.set_group(group);
    create.set_reuse_deleted(replaces);
    EXPECT_TRUE(Ask(&GroupStub::CreateSession, create).ok());
    const std::string uid = Get(id).session_uid();
    if (!keys.empty()) PutKeys(id, uid, keys);
    return uid;
  }
  void PutKeys(
      const std::string& id, const std::string& uid, const std::vector<std::string>& keys,
      const std::function<void(pb::Item&)>& edit = [](pb::Item&) {}) {
    pb::PutItemsRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id(id);
    request.set_session_uid(uid);
    for (const std::string& key : keys) {
      pb::Item& item = *request.add_puts()->mutable_item();
      item.set_collection("notes");
      item.set_key(key);
      item.set_data(absl::StrCat(id, " ", key));
      edit(item);
    }
    grpc::ClientContext context;
    pb::PutItemsResponse response;
    const grpc::Status status = items().PutItems(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  void Remove(const std::string& id) {
    EXPECT_TRUE(Ask(&GroupStub::DeleteSession, DeleteRequest(id, "")).ok());
  }

  static pb::ReadItemsRequest OfPrefix(const std::string& prefix) {
    pb::ReadItemsRequest request;
    request.set_group_prefix(prefix);
    request.set_collection("notes");
    return request;
  }
  static pb::ReadItemsRequest OfGroup(const std::string& group) {
    pb::ReadItemsRequest request = OfPrefix("");
    request.set_group(group);
    return request;
  }

  GroupPage Read(const pb::ReadItemsRequest& request) {
    grpc::ClientContext context;
    const auto reader = items().ReadItems(&context, request);
    GroupPage page;
    for (pb::ReadItemsResponse response; reader->Read(&response);) {
      for (const pb::ItemPiece& piece : response.pieces()) Join(piece, page);
      page.end = response;
    }
    page.status = reader->Finish();
    return page;
  }
  // Of the page that `request` asks for, which then asks for the next one.
  std::vector<std::string> Names(pb::ReadItemsRequest& request) {
    GroupPage page = Read(request);
    EXPECT_TRUE(page.status.ok()) << page.status.error_message();
    EXPECT_EQ(page.end.items_version(), 0);
    EXPECT_EQ(page.end.missing_keys_size(), 0);
    EXPECT_EQ(page.end.unreadable_sessions_size(), 0);
    request.set_page_token(page.end.next_page_token());
    return std::move(page.names);
  }
  // Of all pages.
  std::vector<std::string> AllNames(pb::ReadItemsRequest request) {
    std::vector<std::string> all;
    do {
      const std::vector<std::string> names = Names(request);
      EXPECT_TRUE(request.page_size() == 0 || std::ssize(names) <= request.page_size());
      all.insert(all.end(), names.begin(), names.end());
    } while (!request.page_token().empty());
    return all;
  }

 private:
  pb::ItemService::Stub& items() {
    if (items_ == nullptr) items_ = pb::ItemService::NewStub(channel());
    return *items_;
  }

  static void Join(const pb::ItemPiece& piece, GroupPage& page) {
    if (piece.chunk_offset() == 0) {
      page.names.push_back(absl::StrCat(piece.session_id(), "/", piece.item().key()));
      page.uids.push_back(piece.session_uid());
      page.bytes.push_back(piece.item().data());
      return;
    }
    EXPECT_EQ(piece.session_id(), "");
    ASSERT_FALSE(page.bytes.empty());
    page.bytes.back() += piece.item().data();
  }

  std::unique_ptr<pb::ItemService::Stub> items_;
};

TEST_F(ItemsOfGroupRpc, ComeSessionBySessionInPagesOfEverySize) {
  Fill("app/two", "f", {"1", "2"});
  const std::string uid = Fill("app/one", "e", {"1", "2", "3"});
  Fill("app/one", "d", {});
  Fill("app/one", "c", {"1", "2"});
  Fill("app", "b", {"1"});
  Fill("", "a", {"1"});
  const std::vector<std::string> of_group = {"e/1", "e/2", "e/3", "c/1", "c/2"};
  std::vector<std::string> of_prefix = of_group;
  of_prefix.insert(of_prefix.end(), {"f/1", "f/2"});
  for (const int page_size : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
    pb::ReadItemsRequest request = OfGroup("app/one");
    request.set_page_size(page_size);
    EXPECT_EQ(AllNames(request), of_group) << page_size;
    request = OfPrefix("app/");
    request.set_page_size(page_size);
    EXPECT_EQ(AllNames(request), of_prefix) << page_size;
  }
  const GroupPage page = Read(OfGroup("app/one"));
  EXPECT_EQ(page.uids.front(), uid);
  EXPECT_EQ(page.bytes.back(), "c 2");
  EXPECT_EQ(page.end.next_page_token(), "");
  // The order is that of ListSessions, and within a session that of the request.
  pb::ReadItemsRequest request = OfGroup("app/one");
  request.mutable_range()->set_descending(true);
  request.mutable_range()->set_before_key("3");
  EXPECT_THAT(AllNames(request), ElementsAre("e/2", "e/1", "c/2", "c/1"));
  request.clear_range();
  for (const char* key : {"3", "1", "none"}) request.add_keys(key);
  EXPECT_THAT(AllNames(request), ElementsAre("e/1", "e/3", "c/1"));
  EXPECT_THAT(AllNames(OfGroup("none")), IsEmpty());
  EXPECT_THAT(AllNames(OfPrefix("none")), IsEmpty());
}

TEST_F(ItemsOfGroupRpc, BringDataInPartsAndWhatBelongsToThem) {
  std::string large(2 * kChunkBytes + 5, ' ');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  const std::string first = Fill("g", "b", {});
  PutKeys("b", first, {"1"}, [&](pb::Item& item) { item.set_data(large); });
  for (const char* id : {"b", "a"}) {
    const std::string uid = std::string(id) == "b" ? first : Fill("g", id, {});
    PutKeys(id, uid, {"2"}, [](pb::Item& item) {
      item.add_refs()->set_collection("values");
      item.mutable_refs(0)->set_key("v");
    });
    PutKeys(id, uid, {"v"}, [](pb::Item& item) { item.set_collection("values"); });
  }
  pb::ReadItemsRequest request = OfGroup("g");
  request.set_include_refs(true);
  const GroupPage page = Read(request);
  EXPECT_THAT(page.names, ElementsAre("b/1"));
  EXPECT_TRUE(page.bytes.front() == large);
  request.set_page_token(page.end.next_page_token());
  const GroupPage rest = Read(request);
  EXPECT_THAT(rest.names, ElementsAre("b/2", "b/v", "a/2", "a/v"));
  EXPECT_THAT(rest.bytes, ElementsAre("b 2", "b v", "a 2", "a v"));
  EXPECT_EQ(rest.end.next_page_token(), "");
}

TEST_F(ItemsOfGroupRpc, AreFilteredByLabelsInEachSession) {
  const auto draft = [](pb::Item& item) { (*item.mutable_labels())["draft"].set_bool_value(true); };
  for (const char* id : {"c", "b", "a"}) {
    const std::string uid = Fill("g", id, {"1", "3"});
    if (std::string(id) != "b") PutKeys(id, uid, {"2", "4"}, draft);
  }
  pb::ReadItemsRequest request = OfGroup("g");
  (*request.mutable_labels())["draft"].set_bool_value(true);
  for (const int page_size : {0, 1, 2, 3, 4}) {
    request.set_page_size(page_size);
    EXPECT_THAT(AllNames(request), ElementsAre("c/2", "c/4", "a/2", "a/4")) << page_size;
  }
  (*request.mutable_labels())["draft"].set_bool_value(false);
  EXPECT_THAT(AllNames(request), IsEmpty());
}

TEST_F(ItemsOfGroupRpc, GoOnWhicheverSessionsComeAndGoMeanwhile) {
  const std::string former = Fill("g", "c", {"1", "2", "3"});
  Fill("g", "b", {"1"});
  Fill("g", "a", {"1"});
  pb::ReadItemsRequest request = OfGroup("g");
  request.set_page_size(2);
  EXPECT_THAT(Names(request), ElementsAre("c/1", "c/2"));
  const pb::ReadItemsRequest again = request;
  // Behind the page there are a new session, and one fewer.
  Fill("g", "new", {"1"});
  Remove("b");
  EXPECT_THAT(AllNames(request), ElementsAre("c/3", "a/1", "new/1"));
  // The session in which the page ended is deleted, then there is another one of its id.
  Remove("c");
  EXPECT_THAT(AllNames(again), ElementsAre("a/1", "new/1"));
  Fill("g", "c", {"0", "9"}, former);
  EXPECT_THAT(AllNames(again), ElementsAre("a/1", "new/1", "c/0", "c/9"));
}

TEST_F(ItemsOfGroupRpc, RefuseTheTokenOfAnotherRequest) {
  for (const char* id : {"a", "b"}) Fill("g", id, {"1", "2"});
  pb::ReadItemsRequest request = OfGroup("g");
  request.set_page_size(1);
  EXPECT_THAT(Names(request), ElementsAre("a/1"));
  const std::vector<std::function<void(pb::ReadItemsRequest&)>> others = {
      [](auto& r) { r.set_group("h"); },
      [](auto& r) { r.set_collection("other"); },
      [](auto& r) { r.set_omit_data(true); },
      [](auto& r) { r.set_include_refs(true); },
      [](auto& r) { r.set_include_attached("writes"); },
      [](auto& r) { r.add_keys("1"); },
      [](auto& r) { r.mutable_range()->set_descending(true); },
      [](auto& r) { (*r.mutable_labels())["n"].set_int_value(1); },
      [](auto& r) {
        r.clear_group();
        r.set_group_prefix("g");
      },
      [](auto& r) {
        r.clear_group();
        r.set_session_id("a");
      },
      [](auto& r) { r.set_page_token(r.page_token() + "A"); },
  };
  for (size_t i = 0; i < others.size(); ++i) {
    pb::ReadItemsRequest other = request;
    others[i](other);
    const grpc::Status refused = Read(other).status;
    EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD") << i;
    EXPECT_EQ(RefusedField(refused), "page_token") << i;
  }
  // That of one session, and that of a list.
  pb::ReadItemsRequest one = OfGroup("");
  one.set_session_id("a");
  one.set_page_size(1);
  pb::ListSessionsRequest list;
  list.set_group("g");
  list.set_page_size(1);
  pb::ListSessionsResponse listed;
  ASSERT_TRUE(Ask(&GroupStub::ListSessions, list, &listed).ok());
  for (const std::string& token : {Read(one).end.next_page_token(), listed.next_page_token()}) {
    ASSERT_NE(token, "");
    request.set_page_token(token);
    EXPECT_EQ(RefusedField(Read(request).status), "page_token");
  }
}

TEST_F(ItemsOfGroupRpc, AreOfOneGroupAlone) {
  const std::string uid = Fill("g", "a", {"1"});
  const auto field = [&](const std::function<void(pb::ReadItemsRequest&)>& edit) {
    pb::ReadItemsRequest request = OfGroup("g");
    edit(request);
    const grpc::Status refused = Read(request).status;
    return absl::StrCat(ReasonOf(refused), " ", RefusedField(refused));
  };
  EXPECT_EQ(field([](auto& r) { r.set_session_id("a"); }), "INVALID_FIELD session_id");
  EXPECT_EQ(field([&](auto& r) { r.set_session_uid(uid); }), "INVALID_FIELD session_uid");
  EXPECT_EQ(field([](auto& r) { r.set_ancestors_of("1"); }), "INVALID_FIELD ancestors_of");
  EXPECT_EQ(field([](auto& r) { r.set_group_prefix("g"); }), "INVALID_FIELD group_prefix");
  EXPECT_EQ(field([](auto& r) { r.clear_group(); }), "INVALID_FIELD session_id");
  EXPECT_EQ(field([](auto& r) { r.set_group("g h"); }), "INVALID_FIELD group");
  EXPECT_EQ(field([](auto& r) { r.set_group(std::string(kGroupBytes + 1, 'g')); }),
            "TOO_LARGE group");
  EXPECT_EQ(field([](auto& r) {
              r.clear_group();
              r.set_group_prefix("g h");
            }),
            "INVALID_FIELD group_prefix");
  // What a session's read refuses is refused of a group that has no session too.
  EXPECT_EQ(field([](auto& r) {
              r.set_group("none");
              r.set_collection("A");
            }),
            "INVALID_FIELD collection");
  EXPECT_EQ(field([](auto& r) {
              r.add_keys("1");
              r.mutable_range()->set_key_prefix("1");
            }),
            "INVALID_FIELD range");
  EXPECT_EQ(field([](auto& r) {
              r.add_keys("1");
              (*r.mutable_labels())["n"].set_int_value(1);
            }),
            "INVALID_FIELD labels");
}

TEST_F(ItemsOfGroupRpc, ASessionOfOneReadIsNotNamed) {
  Fill("g", "a", {"1"});
  pb::ReadItemsRequest request = OfGroup("");
  request.set_session_id("a");
  const GroupPage page = Read(request);
  EXPECT_THAT(page.names, ElementsAre("/1"));
  EXPECT_EQ(page.end.items_version(), 1);
}

}  // namespace
}  // namespace holdfast::test
