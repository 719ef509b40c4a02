#include "store-fs/group_commit.h"

#include "platform/exceptions.h"
#include "session/refusal.h"
#include "store-fs/open_session.h"

#include <cstddef>
#include <memory>

namespace holdfast::fs {
namespace {

// A change whose work throws is left to be committed alone, which throws to its own caller.
std::unique_ptr<OpenSession::Member> TryLead(SessionTable& sessions, const Change& change) {
  std::unique_ptr<OpenSession::Member> member;
  CatchException([&] {
    const std::shared_ptr<OpenSession> session = sessions.Find(change.key);
    if (session != nullptr) member = OpenSession::TryLead(session, change);
  });
  return member;
}

}  // namespace

std::vector<GroupedResult> CommitGroup(const std::vector<GroupedChange>& changes,
                                       SessionTable& sessions, WriteAheadLog& log) {
  std::vector<GroupedResult> results(changes.size());
  std::vector<std::unique_ptr<OpenSession::Member>> members(changes.size());
  std::vector<PlacedFrame> frames;
  for (size_t i = 0; i < changes.size(); ++i) {
    members[i] = TryLead(sessions, *changes[i].change);
    if (members[i] != nullptr) frames.push_back(members[i]->placed());
  }
  if (frames.empty()) return results;
  absl::StatusOr<WriteAheadLog::Hold> hold = log.Append(frames);
  for (size_t i = 0; i < changes.size(); ++i) {
    if (members[i] == nullptr) continue;
    if (hold.ok()) {
      results[i] = members[i]->session->FinishMember(*members[i], *hold);
    } else if (OutcomeIsUnknown(hold.status())) {
      results[i].kind = GroupedResult::Kind::kInDoubt;
    }
  }
  return results;
}

}  // namespace holdfast::fs
