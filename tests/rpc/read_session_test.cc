// ReadSession over the wire: order, chunks, restarts, and a client that takes its time.
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using Items = std::vector<pb::SessionPiece>;

class ReadSessionRpc : public Served {
 protected:
  // Reads the whole stream.
  grpc::Status Read(const pb::ReadSessionRequest& request, Items& items) {
    grpc::ClientContext context;
    const auto reader = sessions().ReadSession(&context, request);
    Take(*reader, items);
    return reader->Finish();
  }

  // What is left of a stream.
  static void Take(grpc::ClientReader<pb::ReadSessionResponse>& reader, Items& items) {
    pb::ReadSessionResponse response;
    while (reader.Read(&response)) {
      EXPECT_GT(response.pieces_size(), 0);
      items.insert(items.end(), response.pieces().begin(), response.pieces().end());
    }
  }

  static pb::ReadSessionRequest RequestFor(const std::string& id) {
    pb::ReadSessionRequest request;
    request.set_session_id(id);
    return request;
  }

  // The messages' bytes by number, put together from their pieces.
  static std::map<uint64_t, std::string> Messages(const Items& items) {
    std::map<uint64_t, std::string> out;
    for (const auto& item : items) {
      if (!item.has_message()) continue;
      std::string& data = out[item.message().seq()];
      EXPECT_EQ(data.size(), item.chunk_offset());
      data += item.message().data();
    }
    return out;
  }

  // A session of `turns` turns with one message each.
  std::string Fill(const std::string& id, uint64_t turns) {
    const std::string token = Create(id).lease_token();
    for (uint64_t turn = 1; turn <= turns; ++turn) {
      Begin(id, token);
      Commit(id, token, turn, "message " + std::to_string(turn));
    }
    return token;
  }

  void Note(const std::string& id, const std::string& token, uint64_t turn, uint64_t number) {
    pb::AppendJournalRequest request = AppendRequest(id, token, turn, number);
    request.mutable_entries(0)->set_data("note " + std::to_string(number));
    ASSERT_TRUE(Ask(&pb::SessionService::Stub::AppendJournal, request).ok());
  }
};

TEST_F(ReadSessionRpc, PositionMessagesSlotsJournal) {
  const std::string token = Fill("all", 3);
  Begin("all", token);
  Note("all", token, 4, 1);
  Note("all", token, 4, 2);
  Items items;
  ASSERT_TRUE(Read(RequestFor("all"), items).ok());
  ASSERT_FALSE(items.empty());
  const pb::ReadPosition& position = items.front().position();
  EXPECT_EQ(position.message_count(), 3);
  EXPECT_EQ(position.revision(), Get("all").revision());
  EXPECT_EQ(position.journal_number(), 2);
  EXPECT_EQ(position.history_digest(), Get("all").history_digest());
  std::string order;
  for (const auto& item : items) {
    order += item.has_position() ? 'p' : item.has_message() ? 'm' : item.has_slot() ? 's' : 'j';
  }
  EXPECT_EQ(order, "pmmmsjj");
  EXPECT_EQ(Messages(items)[2], "message 2");
  EXPECT_EQ(items.back().journal_entry().data(), "note 2");
}

TEST_F(ReadSessionRpc, LargeMessagesComeInChunks) {
  const std::string token = Create("large").lease_token();
  std::string data(kChunkBytes * 5 / 2, 'x');
  data.front() = 'a';
  data.back() = 'z';
  Begin("large", token);
  Commit("large", token, 1, data);
  Items items;
  ASSERT_TRUE(Read(RequestFor("large"), items).ok());
  int pieces = 0;
  for (const auto& item : items) {
    if (!item.has_message()) continue;
    ++pieces;
    EXPECT_EQ(item.total_bytes(), data.size());
    EXPECT_LE(item.message().data().size(), kChunkBytes);
  }
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(Messages(items)[1], data);
}

TEST_F(ReadSessionRpc, OnlyTheTail) {
  Fill("tail", 5);
  pb::ReadSessionRequest request = RequestFor("tail");
  request.set_tail_messages(2);
  Items items;
  ASSERT_TRUE(Read(request, items).ok());
  const auto messages = Messages(items);
  EXPECT_EQ(messages.size(), 2);
  EXPECT_EQ(messages.begin()->first, 4);
  EXPECT_EQ(items.front().position().message_count(), 5);
}

TEST_F(ReadSessionRpc, ARestartedStreamGoesOnAtItsPosition) {
  const std::string token = Fill("again", 4);
  Begin("again", token);
  Note("again", token, 5, 1);
  Items first;
  ASSERT_TRUE(Read(RequestFor("again"), first).ok());
  const pb::ReadPosition position = first.front().position();
  Note("again", token, 5, 2);
  Commit("again", token, 5, "later");

  pb::ReadSessionRequest request = RequestFor("again");
  request.set_revision(position.revision());
  request.set_journal_number(position.journal_number());
  request.set_after_message(2);
  request.set_skip_slots(true);
  Items rest;
  ASSERT_TRUE(Read(request, rest).ok());
  const auto messages = Messages(rest);
  ASSERT_EQ(messages.size(), 2);
  EXPECT_EQ(messages.begin()->first, 3);
  EXPECT_EQ(messages.rbegin()->second, "message 4");
  ASSERT_TRUE(rest.back().has_journal_entry());
  EXPECT_EQ(rest.back().journal_entry().number(), 1);
  for (const auto& item : rest) EXPECT_FALSE(item.has_slot());
}

TEST_F(ReadSessionRpc, StreamsThePartsAndSlotsThatAreAskedFor) {
  const std::string token = Fill("parts", 2);
  Begin("parts", token);
  pb::CommitTurnRequest commit = CommitRequest("parts", token, 3, "with slots");
  for (const char* owner : {"memory", "plan", "tools"}) {
    pb::Slot& slot = *commit.add_slots();
    slot.set_owner(owner);
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
    slot.set_data(std::string("of ") + owner);
  }
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::CommitTurn, commit).ok());
  Begin("parts", token);
  Note("parts", token, 4, 1);
  const auto order = [&](const pb::ReadSessionRequest& request) {
    Items items;
    EXPECT_TRUE(Read(request, items).ok());
    std::string seen;
    for (const auto& item : items) {
      seen += item.has_position() ? "p" : item.has_message() ? "m" : item.has_slot() ? "s" : "j";
      if (item.has_slot()) seen += "(" + item.slot().owner() + ")";
    }
    return seen;
  };
  pb::ReadSessionRequest request = RequestFor("parts");
  request.add_owners("tools");
  request.add_owners("absent");
  request.add_owners("memory");
  EXPECT_EQ(order(request), "pmmms(memory)s(tools)j");
  request.add_parts(pb::SESSION_PART_SLOTS);
  EXPECT_EQ(order(request), "ps(memory)s(tools)");
  request.clear_parts();
  request.add_parts(pb::SESSION_PART_JOURNAL);
  EXPECT_EQ(order(request), "pj");
  request.add_parts(pb::SESSION_PART_MESSAGES);
  EXPECT_EQ(order(request), "pmmmj");
  Items items;
  request.set_parts(0, static_cast<pb::SessionPart>(9));
  const grpc::Status refused = Read(request, items);
  EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD");
  EXPECT_NE(Describe(refused).find("field=parts[0]"), std::string::npos) << Describe(refused);
}

TEST_F(ReadSessionRpc, AnOlderSnapshotIsDescribedByItself) {
  const std::string token = Create("older").lease_token();
  Begin("older", token);
  pb::CommitTurnRequest attach = CommitRequest("older", token, 1, "one");
  attach.mutable_state_machine()->set_extension_id("planner");
  attach.mutable_state_machine()->set_slot_ref("plan-1");
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::CommitTurn, attach).ok());
  const pb::Session attached = Get("older");
  Begin("older", token);
  pb::CommitTurnRequest detach = CommitRequest("older", token, 2, "two");
  detach.mutable_state_machine();
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::CommitTurn, detach).ok());

  pb::ReadSessionRequest request = RequestFor("older");
  request.set_revision(attached.revision());
  Items items;
  ASSERT_TRUE(Read(request, items).ok());
  const pb::ReadPosition& then = items.front().position();
  EXPECT_EQ(then.state_machine().extension_id(), "planner");
  EXPECT_EQ(then.state_machine().slot_ref(), "plan-1");
  EXPECT_EQ(then.history_digest(), attached.history_digest());
  items.clear();
  ASSERT_TRUE(Read(RequestFor("older"), items).ok());
  const pb::ReadPosition& now = items.front().position();
  EXPECT_FALSE(now.has_state_machine());
  EXPECT_EQ(now.history_digest(), Get("older").history_digest());
}

TEST_F(ReadSessionRpc, RefusalsOfAStreamHaveDetailsToo) {
  Fill("refused", 1);
  Items items;
  EXPECT_EQ(ReasonOf(Read(RequestFor("absent"), items)), "SESSION_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Read(RequestFor(""), items)), "INVALID_FIELD");
  pb::ReadSessionRequest request = RequestFor("refused");
  request.set_journal_number(3);
  EXPECT_EQ(ReasonOf(Read(request, items)), "INVALID_FIELD");
  request.set_revision(99);
  EXPECT_EQ(ReasonOf(Read(request, items)), "REVISION_AHEAD");
  EXPECT_TRUE(items.empty());
}

TEST_F(ReadSessionRpc, ASlowReaderHoldsNoWorker) {
  config().server.workers = 1;
  const std::string token = Create("slow").lease_token();
  for (uint64_t turn = 1; turn <= 8; ++turn) {
    Begin("slow", token);
    Commit("slow", token, turn, std::string(3 * kMiB, 'x'));
  }
  grpc::ClientContext context;
  const auto reader = sessions().ReadSession(&context, RequestFor("slow"));
  pb::ReadSessionResponse first;
  ASSERT_TRUE(reader->Read(&first));
  // Much more than the transport buffers is still to come, and the only worker is free.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Get("slow").message_count(), 8);
  Items items;
  Take(*reader, items);
  ASSERT_TRUE(reader->Finish().ok());
  EXPECT_EQ(Messages(items).size(), 8);
}

TEST_F(ReadSessionRpc, AReaderThatGoesAwayEndsItsStream) {
  const std::string token = Create("gone").lease_token();
  for (uint64_t turn = 1; turn <= 8; ++turn) {
    Begin("gone", token);
    Commit("gone", token, turn, std::string(3 * kMiB, 'x'));
  }
  {
    grpc::ClientContext context;
    const auto reader = sessions().ReadSession(&context, RequestFor("gone"));
    pb::ReadSessionResponse item;
    ASSERT_TRUE(reader->Read(&item));
    context.TryCancel();
    reader->Finish();
  }
  EXPECT_NE(AwaitLog("ReadSession").find("\"reason\":\"CANCELLED\""), std::string::npos);
}

}  // namespace
}  // namespace holdfast::test
