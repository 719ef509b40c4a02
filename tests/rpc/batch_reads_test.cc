// Several sessions in one call: each with its content, or with its own refusal, within 2 MiB.
#include "holdfast/v1/item_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Stub = pb::SessionService::Stub;

class BatchReadsRpc : public Served {
 protected:
  // A session with `messages` messages, and with slots and items of `bytes` bytes each.
  void Make(const std::string& id, int messages, size_t bytes) {
    pb::CreateSessionRequest create = CreateRequest(id);
    for (int i = 0; i < messages; ++i) {
      pb::Message& message = *create.add_messages();
      message.set_role("user");
      message.set_data("message " + std::to_string(i + 1));
    }
    for (const char* owner : {"memory", "plan"}) {
      pb::Slot& slot = *create.add_slots();
      slot.set_owner(owner);
      slot.set_version("1.2.3");
      slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
      slot.set_data(std::string(bytes, owner[0]));
    }
    ASSERT_TRUE(Ask(&Stub::CreateSession, create).ok());
    pb::PutItemsRequest put;
    put.set_request_id(NewRequestId());
    put.set_session_id(id);
    for (const auto& [collection, key] :
         {std::pair("notes", "a"), std::pair("notes", "b"), std::pair("todo", "a")}) {
      pb::Item& item = *put.add_puts()->mutable_item();
      item.set_collection(collection);
      item.set_key(key);
      item.set_data(std::string(bytes, key[0]));
    }
    grpc::ClientContext context;
    pb::PutItemsResponse done;
    const grpc::Status status = pb::ItemService::NewStub(channel())->PutItems(&context, put, &done);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  pb::BatchGetSessionsResponse BatchGet(const pb::BatchGetSessionsRequest& request) {
    pb::BatchGetSessionsResponse response;
    const grpc::Status status = Ask(&Stub::BatchGetSessions, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.results_size(), request.reads_size());
    return response;
  }

  static void AddItem(const char* collection, const char* key, pb::SessionRead& read) {
    pb::ItemRef& ref = *read.add_items();
    ref.set_collection(collection);
    ref.set_key(key);
  }
};

std::vector<std::string> TextsOf(const pb::SessionReadResult& result) {
  std::vector<std::string> texts;
  for (const pb::Message& message : result.messages()) texts.push_back(message.data());
  return texts;
}

// "collection/key=data" of each item, and only its name where it was left out.
std::vector<std::string> ItemsOf(const pb::SessionReadResult& result) {
  std::vector<std::string> items;
  for (const pb::ItemView& view : result.items()) {
    items.push_back(view.item().collection() + "/" + view.item().key());
    if (!view.left_out()) items.back() += "=" + view.item().data();
  }
  return items;
}

TEST_F(BatchReadsRpc, EachSessionHasTheContentThatIsAskedOfIt) {
  Make("one", 5, 2);
  Make("two", 1, 2);
  pb::BatchGetSessionsRequest request;
  pb::SessionRead& one = *request.add_reads();
  one.set_session_id("one");
  one.set_session_uid(Get("one").session_uid());
  for (const char* owner : {"plan", "absent", "memory", "plan"}) one.add_owners(owner);
  for (const auto& [collection, key] :
       {std::pair("todo", "a"), std::pair("notes", "b"), std::pair("notes", "none")}) {
    AddItem(collection, key, one);
  }
  one.set_tail_messages(2);
  request.add_reads()->set_session_id("two");
  pb::SessionRead& again = *request.add_reads();
  again.set_session_id("two");
  again.set_tail_messages(100);

  const pb::BatchGetSessionsResponse response = BatchGet(request);
  ASSERT_EQ(response.results_size(), 3);
  const pb::SessionReadResult& first = response.results(0);
  EXPECT_EQ(first.session_id(), "one");
  EXPECT_FALSE(first.has_status());
  EXPECT_EQ(first.session().session_id(), "one");
  EXPECT_EQ(first.session().message_count(), 5);
  ASSERT_EQ(first.slots_size(), 2);
  EXPECT_EQ(first.slots(0).slot().owner(), "memory");
  EXPECT_EQ(first.slots(0).slot().data(), "mm");
  EXPECT_EQ(first.slots(0).slot().version(), "1.2.3");
  EXPECT_EQ(first.slots(0).size(), 2);
  EXPECT_FALSE(first.slots(0).data_left_out());
  EXPECT_EQ(first.slots(1).slot().owner(), "plan");
  EXPECT_THAT(ItemsOf(first), ElementsAre("notes/b=bb", "todo/a=aa"));
  EXPECT_EQ(first.items(0).size(), 2);
  EXPECT_EQ(first.items(0).item().version(), 2);
  EXPECT_THAT(TextsOf(first), ElementsAre("message 4", "message 5"));
  EXPECT_EQ(first.messages(0).seq(), 4);
  EXPECT_EQ(first.messages_left_out(), 0);
  EXPECT_EQ(response.results(1).session().session_id(), "two");
  EXPECT_EQ(response.results(1).slots_size(), 0);
  EXPECT_EQ(response.results(1).items_size(), 0);
  EXPECT_THAT(TextsOf(response.results(1)), IsEmpty());
  EXPECT_THAT(TextsOf(response.results(2)), ElementsAre("message 1"));
}

TEST_F(BatchReadsRpc, ASessionThatCannotBeReadIsRefusedForItself) {
  Make("one", 1, 2);
  const std::string token = Create("gone").lease_token();
  ASSERT_TRUE(Ask(&Stub::DeleteSession, DeleteRequest("gone", token)).ok());
  pb::BatchGetSessionsRequest request;
  const auto add = [&](const std::string& id) {
    pb::SessionRead& read = *request.add_reads();
    read.set_session_id(id);
    return &read;
  };
  add("a/b");
  add("absent");
  add("gone");
  add("one")->set_session_uid("9d7e64ad-5a3b-4a8e-8d8b-0e4f7a7a1b11");
  AddItem("holdfast.own", "k", *add("one"));
  add("one")->set_tail_messages(1);
  add(std::string(kMiB, 'x'));
  const pb::BatchGetSessionsResponse response = BatchGet(request);
  std::vector<std::string> reasons;
  for (const pb::SessionReadResult& result : response.results()) {
    reasons.push_back(result.has_status() ? ErrorInfoOf(result.status()).reason() : "OK");
    EXPECT_NE(result.has_status(), result.has_session());
  }
  EXPECT_THAT(reasons, ElementsAre("INVALID_FIELD", "SESSION_NOT_FOUND", "TOMBSTONED", "FENCED",
                                   "INVALID_FIELD", "OK", "INVALID_FIELD"));
  EXPECT_THAT(response.results(0).status().message(), HasSubstr("reads[0].session_id"));
  EXPECT_EQ(response.results(1).session_id(), "absent");
  EXPECT_THAT(response.results(4).status().message(), HasSubstr("reads[4].items[0]"));
  EXPECT_THAT(TextsOf(response.results(5)), ElementsAre("message 1"));
  EXPECT_EQ(response.results(6).session_id(), std::string(kSessionIdBytes, 'x'));
}

TEST_F(BatchReadsRpc, WhatHasNoRoomIsNamed) {
  constexpr size_t kBytes = 400 * kKiB;  // five of them have room
  Make("one", 3, kBytes);
  Make("two", 3, kBytes);
  pb::BatchGetSessionsRequest request;
  for (const char* id : {"one", "two"}) {
    pb::SessionRead& read = *request.add_reads();
    read.set_session_id(id);
    for (const char* owner : {"memory", "plan"}) read.add_owners(owner);
    AddItem("notes", "a", read);
    AddItem("notes", "b", read);
    AddItem("todo", "a", read);
    read.set_tail_messages(2);
  }
  const pb::BatchGetSessionsResponse response = BatchGet(request);
  EXPECT_LE(response.ByteSizeLong(), kPageBytes);
  EXPECT_GT(response.ByteSizeLong(), 5 * kBytes);
  const pb::SessionReadResult& one = response.results(0);
  ASSERT_EQ(one.slots_size(), 2);
  for (const pb::SlotView& view : one.slots()) EXPECT_EQ(view.slot().data().size(), kBytes);
  ASSERT_EQ(one.items_size(), 3);
  for (const pb::ItemView& view : one.items()) EXPECT_EQ(view.item().data().size(), kBytes);
  EXPECT_THAT(TextsOf(one), ElementsAre("message 2", "message 3"));
  const pb::SessionReadResult& two = response.results(1);
  ASSERT_EQ(two.slots_size(), 2);
  for (const pb::SlotView& view : two.slots()) {
    EXPECT_TRUE(view.data_left_out());
    EXPECT_EQ(view.slot().data(), "");
    EXPECT_EQ(view.size(), static_cast<int64_t>(kBytes));
  }
  EXPECT_THAT(ItemsOf(two), ElementsAre("notes/a", "notes/b", "todo/a"));
  EXPECT_THAT(TextsOf(two), ElementsAre("message 2", "message 3")) << "they are short";
}

TEST_F(BatchReadsRpc, OfMessagesThatHaveNoRoomItSaysHowMany) {
  pb::CreateSessionRequest create = CreateRequest("long");
  for (int i = 0; i < 4; ++i) {
    pb::Message& message = *create.add_messages();
    message.set_role("user");
    message.set_data(std::string(900 * kKiB, 'm'));
  }
  ASSERT_TRUE(Ask(&Stub::CreateSession, create).ok());
  pb::BatchGetSessionsRequest request;
  request.add_reads()->set_session_id("long");
  request.mutable_reads(0)->set_tail_messages(3);
  const pb::BatchGetSessionsResponse response = BatchGet(request);
  ASSERT_EQ(response.results(0).messages_size(), 2);
  EXPECT_EQ(response.results(0).messages(0).seq(), 2);
  EXPECT_EQ(response.results(0).messages_left_out(), 1);
}

TEST_F(BatchReadsRpc, ACallHasAsManyReadsAsItMay) {
  pb::BatchGetSessionsRequest request;
  for (size_t i = 0; i < kSessionsPerBatch; ++i) request.add_reads()->set_session_id("absent");
  pb::SessionRead& read = *request.mutable_reads(0);
  for (size_t i = 0; i < kSlotsPerRow; ++i) read.add_owners(std::to_string(i));
  for (size_t i = 0; i < kItemsPerBatchRead; ++i) AddItem("notes", "k", read);
  const pb::BatchGetSessionsResponse response = BatchGet(request);
  for (const pb::SessionReadResult& result : response.results()) {
    EXPECT_EQ(ErrorInfoOf(result.status()).reason(), "SESSION_NOT_FOUND");
  }
  pb::BatchGetSessionsRequest more = request;
  more.add_reads()->set_session_id("absent");
  EXPECT_THAT(Describe(Ask(&Stub::BatchGetSessions, more)),
              HasSubstr("field=reads; got=17; limit=16"));
  more = request;
  more.mutable_reads(0)->add_owners("more");
  EXPECT_EQ(ReasonOf(Ask(&Stub::BatchGetSessions, more)), "TOO_LARGE");
  more = request;
  AddItem("notes", "k", *more.mutable_reads(0));
  EXPECT_EQ(ReasonOf(Ask(&Stub::BatchGetSessions, more)), "TOO_LARGE");
  EXPECT_EQ(BatchGet({}).results_size(), 0);
}

}  // namespace
}  // namespace holdfast::test
