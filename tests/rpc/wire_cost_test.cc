// The size that is reserved for a message covers what its parsing takes, whatever the message is,
// and is not many times that for one that carries its bytes as texts.
#include "server/rpc/call/wire_cost.h"

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/call/receive.h"
#include "session/limits.h"
#include "tests/support/requests.h"

#include "gtest/gtest.h"

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
