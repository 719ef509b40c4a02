// How a session's change is committed together with those of other sessions.
#include "platform/exceptions.h"
#include "store-fs/frame.h"
#include "store-fs/open_session.h"

#include <utility>

namespace holdfast::fs {

OpenSession::Member::~Member() {
  if (session != nullptr) session->EndLead();
}

std::unique_ptr<OpenSession::Member> OpenSession::TryLead(
    const std::shared_ptr<OpenSession>& session, const Change& change) {
  if (change.create || change.tombstone || change.upload) return nullptr;
  auto member = std::make_unique<Member>();
  member->waiter.change = &change;
  if (!session->BeginLead()) return nullptr;
  member->session = session;
  return session->DecideMember(*member) ? std::move(member) : nullptr;
}

bool OpenSession::DecideMember(Member& member) {
  if (!environment_.fail_stop.Check().ok() || !environment_.space.Check().ok()) return false;
  if (stored_->journal.covered) return false;
  member.decisions =
      std::make_unique<CommitBatch>(environment_, key_, stored_->state, *stored_->journal.file);
  auto result = member.decisions->Decide(*member.waiter.change);
  if (!result || !result->ok() || (*result)->kind != CommitResult::Kind::kApplied) return false;
  if (member.decisions->applied().empty()) return false;
  member.waiter.result = *std::move(result);
  absl::StatusOr<EncodedFrame> frame = NextFrame(*member.decisions);
  if (!frame.ok() || frame->bytes.size() > environment_.log->longest_frame()) return false;
  if (!TakeSpace(frame->bytes.size()).ok()) return false;
  member.frame = *std::move(frame);
  return true;
}

GroupedResult OpenSession::FinishMember(Member& member, WriteAheadLog::Hold& hold) {
  const absl::Status fate = FailingOnException([&] {
    absl::Status written = WriteToJournal(member.decisions->applied(), member.frame, &hold);
    if (!written.ok()) return written;
    Batch batch = {&member.waiter};
    Notify(batch, *member.decisions);
    return absl::OkStatus();
  });
  if (!fate.ok()) {
    member.waiter.result = fate;
  } else if (RotationIsDue()) {
    environment_.compactions.Add(key_);
  }
  return {.kind = GroupedResult::Kind::kDone, .result = std::move(member.waiter.result)};
}

}  // namespace holdfast::fs
