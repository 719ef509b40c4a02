// The fingerprint is of the meaning: whatever a mutation means moves it, and nothing else does.
#include "session/fingerprint.h"

#include "tests/unit/sessions_world.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace holdfast::test {
namespace {

template <typename Command>
using Edits = std::vector<std::function<void(Command&)>>;

template <typename Command>
void ExpectMeaning(const Command& command, Method method, const Edits<Command>& meant,
                   const Edits<Command>& beside) {
  const RequestStamp stamp = StampOf(command);
  EXPECT_EQ(stamp.id, command.request);
  EXPECT_EQ(stamp.method, method);
  for (size_t i = 0; i < meant.size(); ++i) {
    Command other = command;
    meant[i](other);
    EXPECT_FALSE(SameRequest(StampOf(other), stamp)) << "edit " << i;
  }
  for (size_t i = 0; i < beside.size(); ++i) {
    Command other = command;
    beside[i](other);
    EXPECT_TRUE(SameRequest(StampOf(other), stamp)) << "edit " << i;
  }
}

TEST(Fingerprint, Create) {
  World world;
  using C = CreateCommand;
  CreateCommand command = world.ToCreate();
  command.messages = {Said("a"), Said("b")};
  command.slots = {SlotOf("memory", "m")};
  ExpectMeaning<C>(command, Method::kCreate,
                   {[](C& c) { c.session.reset(); }, [](C& c) { c.mode = Mode::kYolo; },
                    [](C& c) { c.project_root = "/q"; },
                    [](C& c) { c.sm = StateMachineRef{.ext_id = "e", .slot_ref = "s"}; },
                    [](C& c) { c.messages = {Said("ab")}; },
                    [](C& c) {
                      c.messages = {Said("b"), Said("a")};
                    },
                    [](C& c) { c.messages[0].role = "tool"; },
                    [](C& c) { c.slots[0].policy = DriftPolicy::kReject; },
                    [](C& c) { c.slots[0].version = "1.0.1"; },
                    [](C& c) { c.attributes["title"] = "x"; }, [](C& c) { c.holder = "eve"; }},
                   {[](C& c) { c.lease_ttl = absl::Seconds(90); }});
}

TEST(Fingerprint, CommitTurn) {
  World world;
  using C = CommitTurnCommand;
  ExpectMeaning<C>(
      world.ToCommit(TurnNumber(1)), Method::kCommitTurn,
      {[](C& c) { c.turn = TurnNumber(2); }, [](C& c) { c.expected_revision = Revision(0); },
       [](C& c) { c.outcome = TurnOutcome::kError; }, [](C& c) { c.messages = {Said("")}; },
       [](C& c) { c.deleted_slots = {"memory"}; }, [](C& c) { c.sm.emplace(std::nullopt); },
       [](C& c) { c.sm.emplace(StateMachineRef{.ext_id = "e", .slot_ref = "s"}); },
       [](C& c) { c.last_entry = EntryNumber(); }, [](C& c) { c.begin_next = TurnSource::kUser; },
       [](C& c) { c.acting_owner = "x"; }},
      {[](C& c) { c.token.reset(); }});
}

TEST(Fingerprint, TheOthers) {
  World world;
  ExpectMeaning<UpdateCommand>(world.ToUpdate("x"), Method::kUpdate,
                               {[](UpdateCommand& c) { c.attributes["title"] = std::nullopt; },
                                [](UpdateCommand& c) { c.attributes["title"] = ""; },
                                [](UpdateCommand& c) { c.attributes["agent"] = "x"; }},
                               {});
  ExpectMeaning<ResumeCommand>(
      world.ToResume(), Method::kResume,
      {[](ResumeCommand& c) { c.holder = "eve"; }, [](ResumeCommand& c) { c.force_reason = ""; },
       [](ResumeCommand& c) { c.known_revision = Revision(0); },
       [&](ResumeCommand& c) { c.create_if_missing = world.ToCreate(); }},
      {[](ResumeCommand& c) { c.tail_messages = 3; },
       [&](ResumeCommand& c) { c.token = world.token(); }});
  ExpectMeaning<BeginTurnCommand>(world.ToBegin(), Method::kBeginTurn,
                                  {[](BeginTurnCommand& c) { c.source = TurnSource::kPlan; },
                                   [](BeginTurnCommand& c) { c.expected_revision = Revision(0); }},
                                  {[](BeginTurnCommand& c) { c.token.reset(); }});
  ExpectMeaning<AbandonTurnCommand>(
      world.ToAbandon(TurnNumber(1)), Method::kAbandonTurn,
      {[](AbandonTurnCommand& c) { c.turn = TurnNumber(2); },
       [](AbandonTurnCommand& c) { c.outcome = TurnOutcome::kError; }},
      {});
  ExpectMeaning<CloseCommand>(world.ToClose(), Method::kClose,
                              {[](CloseCommand& c) { c.reason = CloseReason::kSigterm; },
                               [](CloseCommand& c) { c.final_snapshot.emplace(); }},
                              {});
  ExpectMeaning<DeleteCommand>(world.ToDelete(), Method::kDelete, {},
                               {[](DeleteCommand& c) { c.token.reset(); }});
  ExpectMeaning<ReleaseCommand>(world.ToRelease(), Method::kRelease, {},
                                {[](ReleaseCommand& c) { c.token.reset(); }});
}

}  // namespace
}  // namespace holdfast::test
