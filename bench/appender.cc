#include "bench/appender.h"

#include <utility>

namespace holdfast::bench {

void Appender::Start(Done done) {
  request_.Clear();
  request_.set_session_id(agent_.id());
  request_.set_lease_token(agent_.token());
  v1::JournalEntry& entry = *request_.add_entries();
  entry.set_turn(agent_.turn());
  entry.set_number(entries_ + 1);
  entry.set_kind(v1::JOURNAL_KIND_NOTE);
  entry.set_data(fresh_.Take(bytes_));
  context_.emplace();
  served_.sessions().async()->AppendJournal(
      &*context_, &request_, &response_,
      [this, done = std::move(done)](const grpc::Status& status) {
        if (!status.ok()) return done(FailedCall("AppendJournal", status));
        ++entries_;
        done(absl::OkStatus());
      });
}

absl::Status Appender::Count() {
  v1::ReadJournalRequest request;
  request.set_session_id(agent_.id());
  request.set_page_size(1);
  grpc::ClientContext context;
  v1::ReadJournalResponse response;
  const grpc::Status status = served_.sessions().ReadJournal(&context, request, &response);
  if (!status.ok()) return FailedCall("ReadJournal", status);
  if (response.journal_number() == entries_) return absl::OkStatus();
  return absl::FailedPreconditionError("entries that were acknowledged are not there");
}

}  // namespace holdfast::bench
