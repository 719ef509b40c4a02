// Items of groups of sessions over real servers: pages of every size, over a restart, and while
// sessions are deleted and created in the place of deleted ones.
#include "holdfast/v1/item_service.grpc.pb.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::ElementsAre;
using Stub = WireClient::Stub;

class GroupsOfSessions : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override { Start(); }

  void Start() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    items_ = pb::ItemService::NewStub(Connected(server_.address()));
  }
  void Restart() {
    server_.Kill();
    Start();
  }

  // A session of kind OPEN with items of these keys; answers its uid.
  std::string Fill(const std::string& group, const std::string& id,
                   const std::vector<std::string>& keys, const std::string& replaces = "") {
    pb::CreateSessionRequest create = test::CreateRequest(id);
    create.clear_holder();
    create.set_kind(pb::SESSION_KIND_OPEN);
    create.set_group(group);
    create.set_reuse_deleted(replaces);
    // Until nothing of a deleted session is left.
    EXPECT_TRUE(WaitUntil([&] { return client_->Reason(&Stub::CreateSession, create) == "OK"; }));
    std::string uid = client_->Get(id).session_uid();
    pb::PutItemsRequest put;
    put.set_request_id(test::NewRequestId());
    put.set_session_id(id);
    put.set_session_uid(uid);
    for (const std::string& key : keys) {
      pb::Item& item = *put.add_puts()->mutable_item();
      item.set_collection("notes");
      item.set_key(key);
      item.set_data(absl::StrCat(id, " ", key));
      (*item.mutable_labels())["last"].set_bool_value(key == keys.back());
    }
    grpc::ClientContext context;
    pb::PutItemsResponse response;
    EXPECT_EQ(VerdictOf(items_->PutItems(&context, put, &response)).reason, "OK");
    return uid;
  }
  void Remove(const std::string& id, const std::string& uid) {
    pb::DeleteSessionRequest request = test::DeleteRequest(id, "");
    request.set_session_uid(uid);
    client_->Must(&Stub::DeleteSession, request);
  }

  static pb::ReadItemsRequest OfPrefix(const std::string& prefix, int page_size) {
    pb::ReadItemsRequest request;
    request.set_group_prefix(prefix);
    request.set_collection("notes");
    request.set_page_size(page_size);
    return request;
  }
  // `SESSION/KEY` of each item of a page; `request` then asks for the next one. Reads again while
  // the store looks at what it holds.
  std::vector<std::string> Page(pb::ReadItemsRequest& request) {
    std::vector<std::string> names;
    std::string token;
    Verdict verdict;
    WaitUntil([&] {
      names.clear();
      grpc::ClientContext context;
      const auto reader = items_->ReadItems(&context, request);
      for (pb::ReadItemsResponse response; reader->Read(&response);) {
        for (const pb::ItemPiece& piece : response.pieces()) {
          names.push_back(absl::StrCat(piece.session_id(), "/", piece.item().key()));
          EXPECT_EQ(piece.item().data(), absl::StrCat(piece.session_id(), " ", piece.item().key()));
        }
        token = response.next_page_token();
        EXPECT_EQ(response.unreadable_sessions_size(), 0);
      }
      verdict = VerdictOf(reader->Finish());
      return verdict.reason != "STORE_UNAVAILABLE";
    });
    EXPECT_EQ(verdict.reason, "OK") << verdict.message;
    request.set_page_token(token);
    return names;
  }
  std::vector<std::string> AllPages(pb::ReadItemsRequest request) {
    std::vector<std::string> all;
    do {
      for (const std::string& name : Page(request)) all.push_back(name);
    } while (!request.page_token().empty());
    return all;
  }

 private:
  const TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
  std::unique_ptr<WireClient> client_;
  std::unique_ptr<pb::ItemService::Stub> items_;
};

TEST_P(GroupsOfSessions, AreReadSessionBySession) {
  Fill("app/two", "e", {"1", "2"});
  Fill("app/one", "d", {"1", "2", "3"});
  Fill("app/one", "c", {"1"});
  Fill("apps", "b", {"1"});
  Fill("", "a", {"1"});
  const std::vector<std::string> expected = {"d/1", "d/2", "d/3", "c/1", "e/1", "e/2"};
  for (int opened = 0; opened < 2; ++opened) {
    for (const int page_size : {0, 1, 2, 3, 4, 5, 6, 7}) {
      EXPECT_EQ(AllPages(OfPrefix("app/", page_size)), expected) << page_size;
    }
    pb::ReadItemsRequest request = OfPrefix("app/", 2);
    (*request.mutable_labels())["last"].set_bool_value(true);
    EXPECT_THAT(AllPages(request), ElementsAre("d/3", "c/1", "e/2"));
    ASSERT_NO_FATAL_FAILURE(Restart());
  }
}

TEST_P(GroupsOfSessions, GoOnWhicheverSessionsComeAndGoMeanwhile) {
  const std::string first = Fill("app/one", "d", {"1", "2", "3"});
  const std::string second = Fill("app/one", "c", {"1"});
  Fill("app/two", "b", {"1"});
  pb::ReadItemsRequest request = OfPrefix("app/", 2);
  EXPECT_THAT(Page(request), ElementsAre("d/1", "d/2"));
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_THAT(AllPages(request), ElementsAre("d/3", "c/1", "b/1"));
  Remove("c", second);
  Fill("app/one", "new", {"1"});
  EXPECT_THAT(AllPages(request), ElementsAre("d/3", "new/1", "b/1"));
  Remove("d", first);
  EXPECT_THAT(AllPages(request), ElementsAre("new/1", "b/1"));
  Fill("app/one", "d", {"0", "9"}, first);
  EXPECT_THAT(AllPages(request), ElementsAre("new/1", "d/0", "d/9", "b/1"));
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_THAT(AllPages(request), ElementsAre("new/1", "d/0", "d/9", "b/1"));
}

INSTANTIATE_TEST_SUITE_P(Stores, GroupsOfSessions, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing
