// The size that is reserved for a message covers what its parsing takes, whatever the message is,
// and is not many times that for one that carries its bytes as texts.
#include "server/rpc/call/wire_cost.h"

#include "holdfast/v1/item_service.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/call/receive.h"
#include "session/limits.h"
#include "tests/support/method_rules.h"
#include "tests/support/requests.h"

#include "gtest/gtest.h"

#include <memory>
#include <string>

namespace holdfast::test {
namespace {

Bytes BytesOf(const std::string& text) {
  const grpc::Slice slice(text);
  return Bytes(&slice, 1);
}

// What parsing takes, unknown fields and texts included.
template <typename Message>
void ExpectCovered(const std::string& wire, const char* what) {
  const Bytes bytes = BytesOf(wire);
  const ParsedSize size = SizeWhenParsed(bytes, *Message::descriptor());
  Received<Message> message;
  ASSERT_TRUE(message.Parse(bytes, size.arena).ok()) << what;
  EXPECT_LE(message.ArenaBytes(), size.arena) << what;
  EXPECT_LE((*message).SpaceUsedLong(), size.Total()) << what;
}

std::string Repeated(const std::string& part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

TEST(SizeWhenParsed, CoversHonestRequests) {
  pb::CommitTurnRequest commit = CommitRequest("one", "token", 1, std::string(3 * kMiB, 'x'));
  ExpectCovered<pb::CommitTurnRequest>(commit.SerializeAsString(), "one large message");
  for (int i = 0; i < 4000; ++i) {
    pb::Message& message = *commit.add_messages();
    message.set_role("assistant");
    message.set_content_type("text/plain");
    message.set_data("message " + std::to_string(i));
  }
  ExpectCovered<pb::CommitTurnRequest>(commit.SerializeAsString(), "many messages");
  pb::AppendJournalRequest journal;
  for (int i = 0; i < 4096; ++i) {
    *journal.add_entries() = AppendRequest("one", "token", 1, i + 1).entries(0);
    journal.mutable_entries(i)->mutable_slot()->set_owner("owner " + std::to_string(i));
  }
  ExpectCovered<pb::AppendJournalRequest>(journal.SerializeAsString(), "many entries");
  pb::CreateSessionRequest create = CreateRequest("one");
  for (int i = 0; i < 1000; ++i) {
    (*create.mutable_attributes())["attribute " + std::to_string(i)] = std::string(40, 'v');
  }
  ExpectCovered<pb::CreateSessionRequest>(create.SerializeAsString(), "many attributes");
}

// One element of each repeated field and each field of a message, all of them empty, so deep.
void AddEmpty(google::protobuf::Message& message, int depth) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int at = 0; at < message.GetDescriptor()->field_count(); ++at) {
    const auto& field = *message.GetDescriptor()->field(at);
    if (field.message_type() == nullptr || depth == 0) continue;
    AddEmpty(field.is_repeated() ? *reflection.AddMessage(&message, &field)
                                 : *reflection.MutableMessage(&message, &field),
             depth - 1);
  }
}

TEST(SizeWhenParsed, KnowsEveryMessageOfEveryRequest) {
  constexpr int kDepth = 6;
  constexpr int kTimes = 40;  // what is short is not looked at
  for (const auto* const method : ApiMethods()) {
    const std::unique_ptr<google::protobuf::Message> request(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method->input_type())
            ->New());
    AddEmpty(*request, kDepth);
    const std::string wire = Repeated(request->SerializePartialAsString(), kTimes);
    EXPECT_GT(SizeWhenParsed(BytesOf(wire), *method->input_type()).Total(), wire.size())
        << method->name();
  }
}

TEST(SizeWhenParsed, CoversItemsWithLabels) {
  pb::PutItemsRequest put;
  for (int i = 0; i < 200; ++i) {
    pb::Item& item = *put.add_puts()->mutable_item();
    item.set_collection("notes");
    for (int label = 0; label < 20; ++label) {
      (*item.mutable_labels())["label-" + std::to_string(label)].set_int_value(label);
    }
    for (int ref = 0; ref < 20; ++ref) item.add_refs()->set_key(std::to_string(ref));
  }
  ExpectCovered<pb::PutItemsRequest>(put.SerializeAsString(), "items");
  // The values of labels are left out, which the map has all the same.
  std::string wire;
  for (int i = 0; i < 500; ++i) {
    const std::string label = std::string("\x0a\x02", 2) + "l" + static_cast<char>('a' + i % 26);
    const std::string in_item = std::string("\x1a\x04", 2) + label;
    const std::string in_put = std::string("\x0a\x06", 2) + in_item;
    wire += std::string("\x22\x08", 2) + in_put;
  }
  ExpectCovered<pb::PutItemsRequest>(wire, "labels without values");
}

TEST(SizeWhenParsed, CoversFieldsThatTheTypeDoesNotHave) {
  constexpr int kTimes = 100'000;
  const std::string kGroup("\x8b\x3f\x8c\x3f");  // number 1009: begins and ends
  ExpectCovered<pb::CommitTurnRequest>(Repeated(kGroup, kTimes), "groups");
  ExpectCovered<pb::CommitTurnRequest>(Repeated(std::string("\x88\x3f\x01"), kTimes), "numbers");
  ExpectCovered<pb::CommitTurnRequest>(Repeated(std::string("\x8a\x3f\x00", 3), kTimes), "texts");
  ExpectCovered<pb::CommitTurnRequest>(Repeated(std::string("\x3a\x00", 2), kTimes), "slots");
}

// What a call holds once its request has been parsed covers the message for as long as it lives.
TEST(Receive, HoldsFieldsThatTheTypeDoesNotHaveWhileTheMessageLives) {
  Admission admission(1024 * kMiB);
  absl::StatusOr<Admission::Ticket> ticket = admission.AdmitBytes(0);
  ASSERT_TRUE(ticket.ok());
  const Bytes bytes = BytesOf(Repeated("\x8b\x3f\x8c\x3f", 100'000));
  Received<pb::CommitTurnRequest> message;
  ASSERT_TRUE(Receive(bytes, 400 * kMiB, *ticket, message).ok());
  EXPECT_GE(ticket->bytes(), (*message).SpaceUsedLong());
}

TEST(SizeWhenParsed, IsCloseToTheBytesOfTexts) {
  const pb::CommitTurnRequest commit =
      CommitRequest("one", "token", 1, std::string(4 * kMiB - 4 * kKiB, 'x'));
  const std::string wire = commit.SerializeAsString();
  const ParsedSize size = SizeWhenParsed(BytesOf(wire), *pb::CommitTurnRequest::descriptor());
  EXPECT_LE(size.Total(), wire.size() + 64 * kKiB);
}

TEST(SizeWhenParsed, EndsWhereTheMessageIsMalformed) {
  const std::string nested = Repeated(std::string("\x3a\x7f", 2), 100'000);
  const ParsedSize size = SizeWhenParsed(BytesOf(nested), *pb::CommitTurnRequest::descriptor());
  EXPECT_LE(size.Total(), nested.size() * kParsedBytesPerWireByte);
}

}  // namespace
}  // namespace holdfast::test
