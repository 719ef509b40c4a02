// ItemService over the wire.
#include "holdfast/v1/item_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string FactOf(const grpc::Status& status, const std::string& name) {
  const google::rpc::ErrorInfo info = ErrorInfoOf(DetailsOf(status));
  const auto found = info.metadata().find(name);
  return found == info.metadata().end() ? "" : found->second;
}

struct ReadItems {
  grpc::Status status;
  std::vector<pb::Item> items;  // whole
  std::vector<std::string> keys;
  std::vector<std::string> damaged;
  pb::ReadItemsResponse end;
  size_t responses = 0;
  size_t largest_part = 0;
};

class ItemsRpc : public Served {
 protected:
  pb::ItemService::Stub& items() {
    if (items_ == nullptr) items_ = pb::ItemService::NewStub(channel());
    return *items_;
  }

  static pb::PutItemsRequest PutRequest(const std::string& id) {
    pb::PutItemsRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id(id);
    return request;
  }
  static pb::ItemPut& AddPut(pb::PutItemsRequest& request, const std::string& key,
                             const std::string& data) {
    pb::ItemPut& put = *request.add_puts();
    put.mutable_item()->set_collection("notes");
    put.mutable_item()->set_key(key);
    put.mutable_item()->set_data(data);
    return put;
  }
  static pb::ReadItemsRequest ReadRequest(const std::string& id) {
    pb::ReadItemsRequest request;
    request.set_session_id(id);
    request.set_collection("notes");
    return request;
  }

  grpc::Status Put(const pb::PutItemsRequest& request, pb::PutItemsResponse* response = nullptr) {
    grpc::ClientContext context;
    pb::PutItemsResponse unused;
    return items().PutItems(&context, request, response == nullptr ? &unused : response);
  }
  pb::PutItemsResponse MustPut(const pb::PutItemsRequest& request) {
    pb::PutItemsResponse response;
    const grpc::Status status = Put(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  pb::PutItemsResponse MustPut(const std::string& id, const std::string& key,
                               const std::string& data) {
    pb::PutItemsRequest request = PutRequest(id);
    AddPut(request, key, data);
    return MustPut(request);
  }

  ReadItems Read(const pb::ReadItemsRequest& request) {
    grpc::ClientContext context;
    const auto reader = items().ReadItems(&context, request);
    ReadItems read;
    for (pb::ReadItemsResponse response; reader->Read(&response);) {
      ++read.responses;
      for (const pb::ItemPiece& piece : response.pieces()) Join(piece, read);
      read.end = response;
    }
    read.status = reader->Finish();
    for (const pb::Item& item : read.items) read.keys.push_back(item.key());
    return read;
  }
  std::vector<std::string> KeysOf(const pb::ReadItemsRequest& request) {
    const ReadItems read = Read(request);
    EXPECT_TRUE(read.status.ok()) << read.status.error_message();
    return read.keys;
  }

  void CreateOpen(const std::string& id) {
    pb::CreateSessionRequest create = CreateRequest(id);
    create.set_kind(pb::SESSION_KIND_OPEN);
    create.clear_holder();
    create.clear_lease_ttl();
    EXPECT_TRUE(Ask(&pb::SessionService::Stub::CreateSession, create).ok());
  }

 private:
  static void Join(const pb::ItemPiece& piece, ReadItems& read) {
    read.largest_part = std::max(read.largest_part, piece.item().data().size());
    if (piece.chunk_offset() == 0) {
      read.items.push_back(piece.item());
      if (piece.damaged()) read.damaged.push_back(piece.item().key());
      return;
    }
    std::string& data = *read.items.back().mutable_data();
    EXPECT_EQ(piece.item().key(), read.items.back().key());
    EXPECT_EQ(piece.chunk_offset(), static_cast<int64_t>(data.size()));
    data += piece.item().data();
  }

  std::unique_ptr<pb::ItemService::Stub> items_;
};

TEST_F(ItemsRpc, ItemsAreWrittenReadAndDeleted) {
  Create("one");
  pb::PutItemsRequest request = PutRequest("one");
  pb::Item& item = *AddPut(request, "a", "first").mutable_item();
  (*item.mutable_labels())["kind"].set_string_value("note");
  (*item.mutable_labels())["weight"].set_int_value(-3);
  (*item.mutable_labels())["score"].set_double_value(0.5);
  (*item.mutable_labels())["open"].set_bool_value(true);
  item.set_content_type("text/plain");
  item.set_parent_key("root");
  pb::ItemRef& ref = *item.add_refs();
  ref.set_collection("other");
  ref.set_key("b");
  AddPut(request, "b", "second");
  const pb::PutItemsResponse written = MustPut(request);
  EXPECT_EQ(written.revision(), 1);
  EXPECT_EQ(written.items_version(), 2);
  ASSERT_EQ(written.results_size(), 2);
  EXPECT_EQ(written.results(0).version(), 1);
  EXPECT_FALSE(written.results(0).existed());

  const ReadItems read = Read(ReadRequest("one"));
  ASSERT_TRUE(read.status.ok()) << read.status.error_message();
  ASSERT_THAT(read.keys, ElementsAre("a", "b"));
  const pb::Item& first = read.items[0];
  EXPECT_EQ(first.data(), "first");
  EXPECT_EQ(first.labels().at("kind").string_value(), "note");
  EXPECT_EQ(first.labels().at("weight").int_value(), -3);
  EXPECT_EQ(first.labels().at("score").double_value(), 0.5);
  EXPECT_TRUE(first.labels().at("open").bool_value());
  EXPECT_EQ(first.content_type(), "text/plain");
  EXPECT_EQ(first.parent_key(), "root");
  EXPECT_EQ(first.refs(0).key(), "b");
  EXPECT_EQ(first.version(), 1);
  EXPECT_TRUE(first.has_create_time());
  EXPECT_EQ(read.end.items_version(), 2);
  EXPECT_EQ(read.end.next_page_token(), "");
  EXPECT_EQ(Get("one").items_version(), 2);

  pb::PutItemsRequest removal = PutRequest("one");
  pb::ItemDelete& wanted = *removal.add_deletes();
  wanted.set_collection("notes");
  wanted.set_key_prefix("a");
  EXPECT_EQ(MustPut(removal).deleted(), 1);
  EXPECT_THAT(KeysOf(ReadRequest("one")), ElementsAre("b"));
}

TEST_F(ItemsRpc, ARepeatIsAnsweredTheSameAndItsOutcomeIsKnown) {
  Create("one");
  MustPut("one", "a", "1");
  pb::PutItemsRequest request = PutRequest("one");
  AddPut(request, "a", "2").set_condition(pb::PUT_CONDITION_IF_ABSENT);
  AddPut(request, "", "appended");
  const pb::PutItemsResponse first = MustPut(request);
  EXPECT_TRUE(first.results(0).existed());
  pb::PutItemsResponse again = MustPut(request);
  EXPECT_TRUE(again.repeated());
  again.set_repeated(false);
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  pb::GetRequestOutcomeRequest asked;
  asked.set_session_id("one");
  asked.set_request_id(request.request_id());
  asked.set_method(pb::METHOD_PUT_ITEMS);
  pb::GetRequestOutcomeResponse outcome;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::GetRequestOutcome, asked, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_COMMITTED);
  EXPECT_EQ(outcome.put_items().results_size(), 2);
  EXPECT_EQ(outcome.put_items().results(1).version(), first.results(1).version());
  AddPut(request, "b", "more");
  EXPECT_EQ(ReasonOf(Put(request)), "REQUEST_ID_REUSED");
}

TEST_F(ItemsRpc, PagesFollowEachOther) {
  Create("one");
  pb::PutItemsRequest request = PutRequest("one");
  for (char key = 'a'; key <= 'g'; ++key) AddPut(request, std::string(1, key), "x");
  MustPut(request);
  for (const bool descending : {false, true}) {
    pb::ReadItemsRequest page = ReadRequest("one");
    page.mutable_range()->set_descending(descending);
    page.mutable_range()->set_after_key("a");
    page.set_page_size(4);
    const ReadItems first = Read(page);
    EXPECT_EQ(first.keys.size(), 4U);
    page.set_page_token(first.end.next_page_token());
    const ReadItems second = Read(page);
    EXPECT_EQ(second.end.next_page_token(), "");
    std::vector<std::string> keys = first.keys;
    keys.insert(keys.end(), second.keys.begin(), second.keys.end());
    if (descending) std::ranges::reverse(keys);
    EXPECT_THAT(keys, ElementsAre("b", "c", "d", "e", "f", "g"));
    // A token is of its own request.
    page.mutable_range()->set_before_key("f");
    EXPECT_EQ(ReasonOf(Read(page).status), "INVALID_FIELD");
    EXPECT_EQ(FactOf(Read(page).status, "field"), "page_token");
  }
}

TEST_F(ItemsRpc, NamedKeysThatHaveNoItemAreNamed) {
  Create("one");
  pb::PutItemsRequest request = PutRequest("one");
  for (char key = 'b'; key <= 'e'; ++key) AddPut(request, std::string(1, key), "x");
  MustPut(request);
  pb::ReadItemsRequest asked = ReadRequest("one");
  for (const char* key : {"z", "c", "a", "c", "e"}) asked.add_keys(key);
  const ReadItems whole = Read(asked);
  EXPECT_THAT(whole.keys, ElementsAre("c", "e"));
  EXPECT_THAT(whole.end.missing_keys(), ElementsAre("a", "z"));
  asked.set_page_size(1);
  const ReadItems first = Read(asked);
  EXPECT_THAT(first.keys, ElementsAre("c"));
  EXPECT_THAT(first.end.missing_keys(), ElementsAre("a"));
  asked.set_page_token(first.end.next_page_token());
  const ReadItems second = Read(asked);
  EXPECT_THAT(second.keys, ElementsAre("e"));
  EXPECT_THAT(second.end.missing_keys(), ElementsAre("z"));
}

TEST_F(ItemsRpc, LargeItemsComeInParts) {
  Create("one");
  std::string large(3 * kChunkBytes + 17, ' ');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 % 251);
  MustPut("one", "large", large);
  MustPut("one", "small", "s");
  pb::ReadItemsRequest request = ReadRequest("one");
  const ReadItems first = Read(request);
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  ASSERT_THAT(first.keys, ElementsAre("large"));
  EXPECT_TRUE(first.items[0].data() == large);
  EXPECT_EQ(first.largest_part, kChunkBytes);
  request.set_page_token(first.end.next_page_token());
  EXPECT_THAT(KeysOf(request), ElementsAre("small"));
  request.clear_page_token();
  request.set_omit_data(true);
  const ReadItems sizes = Read(request);
  EXPECT_THAT(sizes.keys, ElementsAre("large", "small"));
  EXPECT_EQ(sizes.items[0].data(), "");
}

TEST_F(ItemsRpc, WhatBelongsToAnItemComesBehindIt) {
  Create("one");
  pb::PutItemsRequest request = PutRequest("one");
  const auto add = [&](const std::string& collection, const std::string& key) -> pb::Item& {
    pb::Item& item = *AddPut(request, key, "data of " + key).mutable_item();
    item.set_collection(collection);
    return item;
  };
  const auto refer = [](pb::Item& item, const std::string& key) {
    pb::ItemRef& ref = *item.add_refs();
    ref.set_collection("values");
    ref.set_key(key);
  };
  const std::string attached("\0w", 2);
  refer(add("notes", "a"), "v1");
  pb::Item& b = add("notes", "b");
  refer(b, "v1");
  refer(b, "v2");
  refer(b, "missing");
  b.set_parent_key("a");
  add("notes", "c").set_parent_key("b");
  add("values", "v1");
  add("values", "v2");
  for (const char* key : {"a", "b", "bb", "c"}) add("writes", key + attached);
  add("writes", "b");
  MustPut(request);

  pb::ReadItemsRequest asked = ReadRequest("one");
  asked.set_include_refs(true);
  asked.set_include_attached("writes");
  EXPECT_THAT(KeysOf(asked), ElementsAre("a", "v1", "a" + attached, "b", "v2", "b" + attached, "c",
                                         "c" + attached));
  asked.mutable_range()->set_descending(true);
  EXPECT_THAT(KeysOf(asked), ElementsAre("c", "c" + attached, "b", "v1", "v2", "b" + attached, "a",
                                         "a" + attached));
  asked.clear_range();
  asked.add_keys("b");
  EXPECT_THAT(KeysOf(asked), ElementsAre("b", "v1", "v2", "b" + attached));
  EXPECT_EQ(Read(asked).items[1].data(), "data of v1");
  asked.clear_keys();
  asked.set_ancestors_of("c");
  asked.clear_include_refs();
  asked.set_page_size(2);
  const ReadItems first = Read(asked);
  EXPECT_THAT(first.keys, ElementsAre("c", "c" + attached, "b", "b" + attached));
  asked.set_page_token(first.end.next_page_token());
  const ReadItems second = Read(asked);
  EXPECT_THAT(second.keys, ElementsAre("a", "a" + attached));
  EXPECT_EQ(second.end.next_page_token(), "");
  asked.clear_page_token();
  asked.add_keys("c");
  EXPECT_EQ(FactOf(Read(asked).status, "field"), "keys");
}

TEST_F(ItemsRpc, WhatBelongsToAPageIsBounded) {
  constexpr int kItems = 6;
  constexpr size_t kEach = 3 * kMiB;
  Create("one");
  for (int i = 0; i < kItems; ++i) {
    const std::string key(1, static_cast<char>('a' + i));
    MustPut("one", key, "");
    pb::PutItemsRequest request = PutRequest("one");
    AddPut(request, key + std::string("\0x", 2), std::string(kEach, key[0]))
        .mutable_item()
        ->set_collection("writes");
    MustPut(request);
  }
  pb::ReadItemsRequest asked = ReadRequest("one");
  asked.set_include_attached("writes");
  std::vector<std::string> keys;
  do {
    const ReadItems page = Read(asked);
    ASSERT_TRUE(page.status.ok()) << page.status.error_message();
    EXPECT_LE(page.items.size(), 4U);
    keys.insert(keys.end(), page.keys.begin(), page.keys.end());
    asked.set_page_token(page.end.next_page_token());
  } while (!asked.page_token().empty());
  EXPECT_EQ(keys.size(), size_t{2} * kItems);
  // What belongs to one item alone is not cut.
  for (int i = 0; i < 3; ++i) {
    pb::PutItemsRequest request = PutRequest("one");
    AddPut(request, std::string("a\0y", 3) + std::to_string(i), std::string(kEach, 'y'))
        .mutable_item()
        ->set_collection("writes");
    MustPut(request);
  }
  const ReadItems refused = Read(asked);
  EXPECT_EQ(ReasonOf(refused.status), "TOO_LARGE");
  EXPECT_EQ(FactOf(refused.status, "field"), "include_attached");
}

TEST_F(ItemsRpc, LabelsAreComparedWithTheirType) {
  Create("one");
  pb::PutItemsRequest request = PutRequest("one");
  (*AddPut(request, "a", "").mutable_item()->mutable_labels())["n"].set_int_value(1);
  (*AddPut(request, "b", "").mutable_item()->mutable_labels())["n"].set_string_value("1");
  MustPut(request);
  pb::ReadItemsRequest asked = ReadRequest("one");
  (*asked.mutable_labels())["n"].set_int_value(1);
  EXPECT_THAT(KeysOf(asked), ElementsAre("a"));
  (*asked.mutable_labels())["n"].set_string_value("1");
  EXPECT_THAT(KeysOf(asked), ElementsAre("b"));
}

TEST_F(ItemsRpc, ATokenThatIsSentMustBeCurrent) {
  const std::string token = Create("one").lease_token();
  pb::PutItemsRequest request = PutRequest("one");
  AddPut(request, "a", "by the holder");
  request.set_lease_token(token);
  MustPut(request);
  EXPECT_TRUE(Ask(&pb::SessionService::Stub::ResumeSession, ForceRequest("one")).ok());
  request.set_request_id(NewRequestId());
  EXPECT_EQ(ReasonOf(Put(request)), "FENCED");
  request.clear_lease_token();
  MustPut(request);
  CreateOpen("open");
  pb::PutItemsRequest open = PutRequest("open");
  AddPut(open, "a", "x");
  MustPut(open);
  open.set_request_id(NewRequestId());
  open.set_lease_token(token);
  EXPECT_EQ(ReasonOf(Put(open)), "INVALID_FIELD");
  EXPECT_EQ(FactOf(Put(open), "field"), "lease_token");
}

TEST_F(ItemsRpc, AMissingSessionIsCreatedWithItsFirstItems) {
  pb::PutItemsRequest request = PutRequest("new");
  AddPut(request, "a", "1");
  EXPECT_EQ(ReasonOf(Put(request)), "SESSION_NOT_FOUND");
  pb::CreateSessionRequest& create = *request.mutable_create_if_missing();
  create.mutable_manifest()->set_mode(pb::MODE_ASK);
  create.mutable_manifest()->set_project_root("/srv/app");
  EXPECT_EQ(FactOf(Put(request), "field"), "create_if_missing.kind");
  create.set_kind(pb::SESSION_KIND_OPEN);
  create.set_group("app/one");
  const pb::PutItemsResponse first = MustPut(request);
  EXPECT_TRUE(first.created());
  EXPECT_EQ(first.items_version(), 1);
  EXPECT_TRUE(MustPut(request).repeated());
  request.set_request_id(NewRequestId());
  EXPECT_FALSE(MustPut(request).created());
  EXPECT_EQ(Get("new").group(), "app/one");
  EXPECT_EQ(Get("new").kind(), pb::SESSION_KIND_OPEN);
  create.set_session_id("another");
  EXPECT_EQ(FactOf(Put(request), "field"), "create_if_missing.session_id");
}

TEST_F(ItemsRpc, WritersAtOnceCreateOneSessionAndLoseNothing) {
  constexpr int kWriters = 8;
  std::vector<pb::PutItemsRequest> requests;
  for (int i = 0; i < kWriters; ++i) {
    pb::PutItemsRequest request = PutRequest("new");
    AddPut(request, "", std::to_string(i));
    pb::CreateSessionRequest& create = *request.mutable_create_if_missing();
    create.mutable_manifest()->set_mode(pb::MODE_ASK);
    create.mutable_manifest()->set_project_root("/srv/app");
    create.set_kind(pb::SESSION_KIND_OPEN);
    requests.push_back(std::move(request));
  }
  items();
  std::atomic<int> created = 0;
  std::vector<std::thread> threads;
  threads.reserve(requests.size());
  for (const pb::PutItemsRequest& request : requests) {
    threads.emplace_back([&] { created += MustPut(request).created() ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(KeysOf(ReadRequest("new")).size(), size_t{kWriters});
}

TEST_F(ItemsRpc, ADeletedSessionHasNoItems) {
  const std::string token = Create("one").lease_token();
  MustPut("one", "a", "1");
  EXPECT_TRUE(Ask(&pb::SessionService::Stub::DeleteSession, DeleteRequest("one", token)).ok());
  EXPECT_EQ(ReasonOf(Read(ReadRequest("one")).status), "TOMBSTONED");
  pb::PutItemsRequest request = PutRequest("one");
  AddPut(request, "a", "1");
  EXPECT_EQ(ReasonOf(Put(request)), "TOMBSTONED");
}

TEST_F(ItemsRpc, PutsLeaveAnAuditRecordAndNoEvent) {
  Create("one");
  pb::PutItemsRequest request = PutRequest("one");
  AddPut(request, "a", "1");
  AddPut(request, "b", "1");
  pb::ItemDelete& wanted = *request.add_deletes();
  wanted.set_collection("notes");
  wanted.set_key("c");
  MustPut(request);
  pb::ListAuditRecordsRequest list;
  list.set_session_id("one");
  pb::ListAuditRecordsResponse records;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ListAuditRecords, list, &records).ok());
  ASSERT_EQ(records.records_size(), 2);
  const pb::AuditRecord& record = records.records(1);
  EXPECT_EQ(record.audit_class(), "Items");
  EXPECT_EQ(record.code(), "put");
  EXPECT_EQ(record.data().at("puts"), "2");
  EXPECT_EQ(record.data().at("deletes"), "1");
  EXPECT_EQ(record.data().at("request_digest").size(), 64U);
  EXPECT_EQ(Get("one").last_event(), 1);
}

// A request that is refused, and the field that is named.
struct BadField {
  std::string field;
  std::string reason;
  std::function<void(pb::PutItemsRequest&)> edit;
};

TEST_F(ItemsRpc, RefusalsNameTheField) {
  const auto item = [](pb::PutItemsRequest& request) -> pb::Item& {
    return *request.mutable_puts(0)->mutable_item();
  };
  const std::vector<BadField> cases = {
      {"puts", "INVALID_FIELD", [](auto& r) { r.clear_puts(); }},
      {"puts[0].item", "INVALID_FIELD", [](auto& r) { r.mutable_puts(0)->clear_item(); }},
      {"puts[0].item.collection", "INVALID_FIELD", [&](auto& r) { item(r).set_collection("A"); }},
      {"puts[0].item.collection", "INVALID_FIELD",
       [&](auto& r) { item(r).set_collection("holdfast.tasks"); }},
      {"puts[0].item.collection", "TOO_LARGE",
       [&](auto& r) { item(r).set_collection(std::string(kItemCollectionBytes + 1, 'a')); }},
      {"puts[0].item.key", "TOO_LARGE",
       [&](auto& r) { item(r).set_key(std::string(kItemKeyBytes + 1, 'a')); }},
      {"puts[0].item.labels.n", "INVALID_FIELD",
       [&](auto& r) { (*item(r).mutable_labels())["n"]; }},
      {"puts[0].item.labels.n", "INVALID_FIELD",
       [&](auto& r) {
         (*item(r).mutable_labels())["n"].set_double_value(
             std::numeric_limits<double>::quiet_NaN());
       }},
      {"puts[0].item.labels.n", "TOO_LARGE",
       [&](auto& r) {
         (*item(r).mutable_labels())["n"].set_string_value(
             std::string(kItemLabelValueBytes + 1, 'a'));
       }},
      {"puts[0].item.refs[0].key", "INVALID_FIELD",
       [&](auto& r) { item(r).add_refs()->set_collection("notes"); }},
      {"puts[0].expected_version", "INVALID_FIELD",
       [](auto& r) { r.mutable_puts(0)->set_expected_version(3); }},
      {"puts[0].condition", "INVALID_FIELD",
       [&](auto& r) {
         item(r).clear_key();
         r.mutable_puts(0)->set_condition(pb::PUT_CONDITION_IF_ABSENT);
       }},
      {"puts[0].condition", "INVALID_FIELD",
       [](auto& r) { r.mutable_puts(0)->set_condition(static_cast<pb::PutCondition>(9)); }},
      {"puts[1].item.key", "INVALID_FIELD", [](auto& r) { *r.add_puts() = r.puts(0); }},
      {"deletes[0]", "INVALID_FIELD", [](auto& r) { r.add_deletes()->set_collection("notes"); }},
      {"deletes[0].range", "INVALID_FIELD",
       [](auto& r) {
         pb::ItemDelete& wanted = *r.add_deletes();
         wanted.set_collection("notes");
         wanted.mutable_range()->set_start_key("b");
         wanted.mutable_range()->set_end_key("a");
       }},
      {"expected_last.collection", "INVALID_FIELD", [](auto& r) { r.mutable_expected_last(); }},
  };
  Create("one");
  for (const BadField& bad : cases) {
    pb::PutItemsRequest request = PutRequest("one");
    AddPut(request, "a", "1");
    bad.edit(request);
    const grpc::Status status = Put(request);
    EXPECT_EQ(ReasonOf(status), bad.reason) << bad.field;
    EXPECT_EQ(FactOf(status, "field"), bad.field);
  }
  EXPECT_THAT(KeysOf(ReadRequest("one")), IsEmpty());
  pb::ReadItemsRequest read = ReadRequest("one");
  read.add_keys("a");
  read.mutable_range()->set_key_prefix("a");
  EXPECT_EQ(FactOf(Read(read).status, "field"), "range");
  read.clear_range();
  (*read.mutable_labels())["n"].set_int_value(1);
  EXPECT_EQ(FactOf(Read(read).status, "field"), "labels");
  read.clear_labels();
  read.set_collection("holdfast.tasks");
  EXPECT_EQ(FactOf(Read(read).status, "field"), "collection");
}

TEST_F(ItemsRpc, StaleWritesSayWhatIsThere) {
  Create("one");
  MustPut("one", "a/1", "1");
  pb::PutItemsRequest request = PutRequest("one");
  pb::ItemPut& put = AddPut(request, "a/1", "2");
  put.set_condition(pb::PUT_CONDITION_IF_VERSION);
  put.set_expected_version(7);
  EXPECT_EQ(ReasonOf(Put(request)), "STALE_REVISION");
  EXPECT_EQ(FactOf(Put(request), "what"), "item");
  EXPECT_EQ(FactOf(Put(request), "actual"), "1");
  put.set_expected_version(1);
  request.mutable_expected_last()->set_collection("notes");
  request.mutable_expected_last()->set_key_prefix("a/");
  EXPECT_EQ(FactOf(Put(request), "field"), "expected_last.key");
  request.mutable_expected_last()->set_key("a/1");
  MustPut(request);
}

}  // namespace
}  // namespace holdfast::test
