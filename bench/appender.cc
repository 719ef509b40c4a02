#include "bench/appender.h"

namespace holdfast::bench {

void Appender::Start(grpc::CompletionQueue& queue, void* tag) {
  request_.Clear();
  request_.set_session_id(agent_.id());
  request_.set_lease_token(agent_.token());
  v1::JournalEntry& entry = *request_.add_entries();
  entry.set_turn(agent_.turn());
  entry.set_number(entries_ + 1);
  entry.set_kind(v1::JOURNAL_KIND_NOTE);
  entry.set_data(fresh_.Take(bytes_));
  call_.Start(queue, tag, [this](auto* context, auto* by) {
    return served_.sessions().AsyncAppendJournal(context, request_, by);
  });
}

absl::Status Appender::End() {
  if (!call_.status().ok()) return FailedCall("AppendJournal", call_.status());
  ++entries_;
  return absl::OkStatus();
}

absl::Status Appender::Count() {
  v1::ListJournalEntriesRequest request;
  request.set_session_id(agent_.id());
  request.set_page_size(1);
  grpc::ClientContext context;
  v1::ListJournalEntriesResponse response;
  const grpc::Status status = served_.sessions().ListJournalEntries(&context, request, &response);
  if (!status.ok()) return FailedCall("ListJournalEntries", status);
  if (static_cast<uint64_t>(response.journal_number()) == entries_) return absl::OkStatus();
  return absl::FailedPreconditionError("entries that were acknowledged are not there");
}

}  // namespace holdfast::bench
