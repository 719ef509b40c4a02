#include "tests/faults/workload.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "session/staged.h"
#include "tests/support/grouped_commit.h"

#include <span>
#include <utility>

namespace holdfast::test {
namespace {

constexpr int kStreamedRound = 1;
constexpr int kTogether = 3;
constexpr int kBrief = 8;  // sessions that live for one turn and are deleted
constexpr PageLimit kEverything{.items = 1000, .bytes = size_t{1} << 24};

std::string Big(int round) { return std::string(700, static_cast<char>('a' + round)); }

absl::StatusOr<CommitResult> Applied(absl::StatusOr<CommitResult> result) {
  if (result.ok() && !result->refusal.ok()) return result->refusal;
  return result;
}

}  // namespace

std::string Words(const Found& found) {
  if (found.deleted) return "deleted";
  if (!found.exists) return "not there";
  std::string words = std::to_string(found.messages.size()) + " messages, " +
                      std::to_string(found.entries) + " entries, slots";
  for (const auto& [owner, data] : found.slots) words += " " + owner + "=" + data;
  words += ", items";
  for (const auto& [key, data] : found.items) words += " " + key + "=" + data;
  return words;
}

absl::StatusOr<Found> Find(SessionStore& store, const SessionKey& key) {
  Found found;
  const auto loaded = store.LoadForDecision(key, std::nullopt);
  if (Is(loaded.status(), Reason::kSessionNotFound)) return found;
  found.deleted = Is(loaded.status(), Reason::kTombstoned);
  if (found.deleted) return found;
  RETURN_IF_ERROR(loaded.status());
  found.exists = true;
  found.entries = loaded->head.journal.value();
  ASSIGN_OR_RETURN(MessagePage messages,
                   store.ReadMessages(key, std::nullopt, MessageSeq(), kEverything));
  for (Message& message : messages.messages) {
    RETURN_IF_ERROR(ResolveUpload(store, key, message));
    found.messages.push_back(message.data.str());
  }
  ASSIGN_OR_RETURN(SlotPage slots, store.ReadSlots(key, {}));
  for (SlotView& view : slots.slots) {
    if (view.slot.owner == kStoreSlotOwner) continue;
    RETURN_IF_ERROR(ResolveUpload(store, key, view.slot));
    found.slots[view.slot.owner] = view.damaged ? "(damaged)" : view.slot.data;
  }
  ASSIGN_OR_RETURN(const ItemPage items,
                   store.ReadItems(key, {.collection = kWorkItems, .data = true}, kEverything));
  for (const ItemView& view : items.items) {
    found.items[view.item.name.key] = view.damaged ? "(damaged)" : view.item.data.str();
  }
  return found;
}

absl::Status Workload::Do(SessionStore& store, Session& session, const Change& change,
                          const Found& after) {
  session.in_flight = after;
  audited_ = change.audit.has_value();
  const auto result = Applied(store.Commit(change));
  if (!result.ok()) return result.status();
  session.acknowledged = after;
  session.in_flight.reset();
  ++acknowledged_;
  if (result->receipt.turn > TurnNumber()) session.turn = result->receipt.turn;
  if (auto token = LeaseToken::Parse(result->receipt.token)) session.token = *std::move(token);
  return absl::OkStatus();
}

absl::Status Workload::Turn(SessionStore& store, Session& session, int round) {
  Changes changes(Key(session.name), random_);
  Found after = session.acknowledged;
  Change begin = changes.Begin(session.token);
  WriteItems(round, begin, after);
  RETURN_IF_ERROR(Do(store, session, begin, after));
  after.entries += 2;
  RETURN_IF_ERROR(Do(store, session,
                     changes.Append(session.token, session.turn,
                                    {SlotUpdate(session.turn, 1, MakeSlot("plan", Big(round))),
                                     Note(session.turn, 2, "thinking")}),
                     after));
  if (round % 3 == 2) {  // an abandoned turn leaves no trace in slots
    Change abandon = changes.Abandon(session.token, session.turn);
    abandon.pins_previous = CheckpointKind::kInterrupted;
    return Do(store, session, abandon, after);
  }
  Change commit = changes.CommitTurn(session.token, session.turn);
  commit.messages = {Text("question " + std::to_string(round)), Text(Big(round))};
  commit.slots = {MakeSlot("memory", std::to_string(round))};
  if (round % 2 == 0) commit.slots.push_back(MakeSlot("scratch", Big(round)));
  if (round % 2 == 1) commit.deleted_slots = {"scratch"};
  for (const Message& message : commit.messages) after.messages.push_back(message.data.str());
  if (round == kStreamedRound) {
    RETURN_IF_ERROR(Stage(store, commit));
  }
  after.slots["plan"] = Big(round);
  after.slots["memory"] = std::to_string(round);
  after.slots.erase("scratch");
  if (round % 2 == 0) after.slots["scratch"] = Big(round);
  return Do(store, session, commit, after);
}

// An item that is replaced, one that stays, and one that a later round deletes.
void Workload::WriteItems(int round, Change& change, Found& after) {
  const std::string name = std::to_string(round);
  const std::string before = "of " + std::to_string(round - 2);
  change.items.deletes = {{.collection = kWorkItems, .keys = KeysWithPrefix(before)}};
  std::erase_if(after.items, [&](const auto& item) { return item.first.starts_with(before); });
  const std::vector<std::pair<std::string, std::string>> written = {
      {"latest", Big(round)}, {"of " + name, name}, {"stays " + name, ""}};
  for (const auto& [key, data] : written) {
    change.items.puts.push_back(Put(key, data));
    after.items[key] = data;
  }
}

// The same change as a client streams it: its last message and its first slot lie in an upload.
absl::Status Workload::Stage(SessionStore& store, Change& change) {
  Message& message = change.messages.back();
  Slot& slot = change.slots.front();
  const std::string bytes = message.data.str() + slot.data.str();
  const size_t first = message.data.size();
  const UploadId id = *UploadId::Parse(UuidText(random_.Bytes(16), 4));
  RETURN_IF_ERROR(store.StageUpload(change.key, id, 0, bytes.substr(0, first / 2)));
  RETURN_IF_ERROR(store.StageUpload(change.key, id, first / 2, bytes.substr(first / 2)));
  message.staged =
      StagedBytes{.upload = id, .offset = 0, .size = first, .digest = Sha256(message.data)};
  slot.staged = StagedBytes{
      .upload = id, .offset = first, .size = slot.data.size(), .digest = Sha256(slot.data)};
  message.data.clear();
  slot.data.clear();
  change.upload = UploadLink{.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
  return absl::OkStatus();
}

absl::Status Workload::Live(SessionStore& store, Session& session, int rounds) {
  Changes changes(Key(session.name), random_);
  Found after{.exists = true, .messages = {"hello"}, .slots = {{"plan", "none"}}};
  Change create = changes.Create();
  create.messages = {Text("hello")};
  create.slots = {MakeSlot("plan", "none")};
  create.create->replaces = session.former;
  session.uid = create.create->uid;
  RETURN_IF_ERROR(Do(store, session, create, after));
  for (int round = 0; round < rounds; ++round) {
    RETURN_IF_ERROR(Turn(store, session, round));
    if (round == rounds / 2) {
      after = session.acknowledged;
      RETURN_IF_ERROR(Do(store, session, changes.Release(session.token), after));
      Change resume = changes.Resume();
      resume.guard.uid = session.uid;
      RETURN_IF_ERROR(Do(store, session, resume, after));
      ++after.entries;
      after.slots["between"] = "turns";
      RETURN_IF_ERROR(
          Do(store, session,
             changes.Append(session.token, TurnNumber(),
                            {SlotUpdate(TurnNumber(), 1, MakeSlot("between", "turns"))}),
             after));
    }
  }
  return Do(store, session, changes.Close(session.token), session.acknowledged);
}

// Sessions whose changes are committed together, one of each in a group.
absl::Status Workload::LiveTogether(SessionStore& store) {
  for (int at = 0; at < kTogether; ++at) {
    Session& session = sessions_.emplace_back(Session{.name = "grouped" + std::to_string(at)});
    const Found created{.exists = true};
    RETURN_IF_ERROR(Do(store, session, Changes(Key(session.name), random_).Create(), created));
  }
  for (int round = 0; round < rounds_; ++round) RETURN_IF_ERROR(CommitOfEach(store, round));
  return absl::OkStatus();
}

absl::Status Workload::CommitOfEach(SessionStore& store, int round) {
  const std::span<Session> members = std::span(sessions_).last(kTogether);
  std::vector<Change> changes;
  for (Session& session : members) {
    Change change = Changes(Key(session.name), random_).Write(session.token);
    change.messages = {Text(session.name + " " + Big(round))};
    session.in_flight = session.acknowledged;
    session.in_flight->messages.push_back(change.messages.front().data.str());
    WriteItems(round, change, *session.in_flight);
    changes.push_back(std::move(change));
  }
  audited_ = false;
  const auto results = CommitTogether(store, changes);
  absl::Status status;
  for (size_t at = 0; at < members.size(); ++at) {
    const auto result = Applied(results[at]);
    if (!result.ok()) {
      status = result.status();
      continue;
    }
    members[at].acknowledged = *std::exchange(members[at].in_flight, std::nullopt);
    ++acknowledged_;
  }
  return status;
}

absl::Status Workload::DeleteSession(SessionStore& store, Session& session) {
  Found gone;
  gone.deleted = true;
  Change change = Changes(Key(session.name), random_).Delete();
  change.guard.uid = session.uid;
  RETURN_IF_ERROR(Do(store, session, change, gone));
  session.former = session.uid;
  return absl::OkStatus();
}

absl::Status Workload::Run(SessionStore& store) {
  for (const char* name : {"first", "second", "third"}) {
    sessions_.push_back({.name = name});
    RETURN_IF_ERROR(Live(store, sessions_.back(), rounds_));
  }
  RETURN_IF_ERROR(DeleteSession(store, sessions_[1]));
  RETURN_IF_ERROR(Live(store, sessions_[1], 1));  // in its own place
  RETURN_IF_ERROR(DeleteSession(store, sessions_[1]));
  RETURN_IF_ERROR(Live(store, sessions_[1], 1));
  RETURN_IF_ERROR(LiveTogether(store));
  for (int at = 0; at < kBrief; ++at) {
    sessions_.push_back({.name = "brief" + std::to_string(at)});
    RETURN_IF_ERROR(Live(store, sessions_.back(), 1));
    RETURN_IF_ERROR(DeleteSession(store, sessions_.back()));
  }
  finished_ = true;
  return absl::OkStatus();
}

std::string Workload::Check(SessionStore& store) const {
  return Check([&](const SessionKey& key) { return Find(store, key); });
}

std::string Workload::Check(const Finder& find) const {
  for (const Session& session : sessions_) {
    const absl::StatusOr<Found> found = find(Key(session.name));
    if (!found.ok()) return session.name + ": " + std::string(found.status().message());
    if (*found == session.acknowledged) continue;
    if (session.in_flight && *found == *session.in_flight) continue;
    return session.name + ": found " + Words(*found) + "; acknowledged " +
           Words(session.acknowledged) +
           (session.in_flight ? "; in flight " + Words(*session.in_flight) : "");
  }
  return "";
}

std::string Workload::GoOn(SessionStore& store) const {
  for (const Session& session : sessions_) {
    const SessionKey key = Key(session.name);
    const auto loaded = store.LoadForDecision(key, std::nullopt);
    if (!loaded.ok()) continue;  // Check has reported it
    Changes changes(key, random_);
    Change resume = loaded->head.turn ? changes.ResumeActive() : changes.Resume(LeaseRule::kForce);
    resume.guard.uid = loaded->head.uid;
    const auto resumed = Applied(store.Commit(resume));
    if (!resumed.ok()) return session.name + ": resume: " + std::string(resumed.status().message());
    const LeaseToken token = *LeaseToken::Parse(resumed->receipt.token);
    const auto begun = Applied(store.Commit(changes.Begin(token)));
    if (!begun.ok()) return session.name + ": begin: " + std::string(begun.status().message());
    Change commit = changes.CommitTurn(token, begun->receipt.turn);
    commit.messages = {Text("still here")};
    const auto committed = Applied(store.Commit(commit));
    if (!committed.ok())
      return session.name + ": commit: " + std::string(committed.status().message());
  }
  return "";
}

std::string CheckOpened(SessionStore& store, const Workload& workload) {
  const absl::Status opened = store.Init();
  if (!opened.ok()) return "the store does not open: " + std::string(opened.message());
  std::string wrong = workload.Check(store);
  if (wrong.empty()) wrong = workload.GoOn(store);
  store.Dispose();
  return wrong;
}

}  // namespace holdfast::test
