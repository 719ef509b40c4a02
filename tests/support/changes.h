// Changes as the domain makes them, for cases that speak to a store directly.
#ifndef HOLDFAST_TESTS_SUPPORT_CHANGES_H_
#define HOLDFAST_TESTS_SUPPORT_CHANGES_H_

#include "platform/clock.h"
#include "session/change.h"
#include "session/ids.h"
#include "session/item_writes.h"
#include "session/model.h"
#include "session/token.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

SessionKey Key(std::string_view session, std::string_view tenant = "default");
RequestId NewRequest(Random& random);
RequestStamp Stamp(Random& random, Method method, std::string_view meaning = "");

Message Text(std::string_view data);
// Puts on the collection `notes`: whatever is there, and where nothing is.
ItemPut Put(std::string_view key, std::string_view data);
ItemPut PutIfAbsent(std::string_view key, std::string_view data);
ItemPut PutOnVersion(std::string_view key, std::string_view data, ItemVersion expected);
Slot MakeSlot(std::string_view owner, std::string_view data, std::string_view version = "1.0.0");
// Entry `number` of `turn`: a note, or the update of a slot.
JournalEntry Note(TurnNumber turn, uint64_t number, std::string_view data);
JournalEntry SlotUpdate(TurnNumber turn, uint64_t number, Slot slot);

// Makes changes of one session; each has a request id of its own.
class Changes {
 public:
  Changes(SessionKey key, Random& random) : key_(std::move(key)), random_(random) {}

  // Snapshot 0 and the first lease.
  Change Create();
  Change Begin(const LeaseToken& token);
  Change CommitTurn(const LeaseToken& token, TurnNumber turn);
  // A snapshot inside the turn, which stays active.
  Change KeepTurn(const LeaseToken& token, TurnNumber turn);
  // A snapshot without a turn.
  Change Write(const LeaseToken& token);
  Change Abandon(const LeaseToken& token, TurnNumber turn);
  // No request id: entries have their own key.
  Change Append(const LeaseToken& token, TurnNumber turn, std::vector<JournalEntry> entries);
  // A grant; an active turn is not looked at (see ResumeActive).
  Change Resume(LeaseRule rule = LeaseRule::kFreeOrExpired);
  // A forced grant that abandons the active turn in the same write.
  Change ResumeActive();
  Change Release(const LeaseToken& token);
  Change Close(const LeaseToken& token);
  Change Delete();
  Change Update(AttributePatch attributes);
  // Writes of items, without a token.
  Change PutItems(ItemWrites writes);
  // A cancel request without a lease token. Its guard names no turn: the store does not check that
  // `turn` is the active one.
  Change RequestCancel(CancelScope scope, TurnNumber turn = TurnNumber(),
                       std::string_view name = "");
  // The server's own close of a session whose holder is gone.
  Change Recover(Epoch epoch, TurnNumber turn);

  [[nodiscard]] const SessionKey& key() const { return key_; }

 private:
  Change Start(Trigger trigger, Method method);
  Change Held(Trigger trigger, Method method, const LeaseToken& token);
  Grant NewGrant();

  SessionKey key_;
  Random& random_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_CHANGES_H_
