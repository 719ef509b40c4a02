#include "bench/journal_stream.h"

#include "platform/status_macros.h"

#include <algorithm>
#include <chrono>

namespace holdfast::bench {
namespace {

// Entries of one request, as a client gathers them that has many.
constexpr uint64_t kTogether = 8;

}  // namespace

JournalStream::JournalStream(Served& served, const Agent& agent, Entries entries)
    : agent_(agent), entries_(entries), acknowledged_(entries.after) {
  served.sessions().async()->AppendJournalStream(&context_, this);
  request_.set_session_id(agent.id());
  request_.set_lease_token(agent.token());
  WriteNext();
  StartRead(&response_);
  StartCall();
}

void JournalStream::WriteNext() {
  const uint64_t together = std::min(kTogether, entries_.count - written_);
  for (uint64_t at = 0; at < together; ++at) {
    v1::JournalEntry& entry = *request_.add_entries();
    entry.set_turn(agent_.turn());
    entry.set_number(entries_.after + ++written_);
    entry.set_kind(v1::JOURNAL_KIND_NOTE);
    entry.set_data(fresh_.Take(entries_.bytes));
  }
  if (written_ == entries_.count) {
    StartWriteLast(&request_, grpc::WriteOptions());
  } else {
    StartWrite(&request_);
  }
}

void JournalStream::OnWriteDone(bool ok) {
  if (!ok || written_ == entries_.count) return;
  request_.Clear();
  WriteNext();
}

void JournalStream::OnReadDone(bool ok) {
  if (!ok) return;
  acknowledged_ = response_.last_entry();
  StartRead(&response_);
}

void JournalStream::OnDone(const grpc::Status& status) {
  const absl::MutexLock lock(&mutex_);
  status_ = status;
  done_ = true;
}

absl::Status JournalStream::Await() {
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&done_));
  if (!status_.ok()) return FailedCall("AppendJournalStream", status_);
  if (acknowledged_ == entries_.after + entries_.count) return absl::OkStatus();
  return absl::FailedPreconditionError("a stream ended before its last entry was acknowledged");
}

absl::Status JournalStreams::Open(size_t count) {
  ASSIGN_OR_RETURN(agents_, MakeAgents(served_, "stream", count));
  return absl::OkStatus();
}

absl::StatusOr<Round> JournalStreams::Append(uint64_t count) {
  const uint64_t each = count / agents_.size();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<JournalStream>> streams;
  for (const auto& agent : agents_) {
    streams.push_back(std::make_unique<JournalStream>(
        served_, *agent,
        JournalStream::Entries{.after = entries_, .count = each, .bytes = entry_bytes_}));
  }
  absl::Status status;
  for (const auto& stream : streams) status.Update(stream->Await());
  RETURN_IF_ERROR(status);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  entries_ += each;
  return Summarise(each * agents_.size(), took.count(), {});
}

absl::Status JournalStreams::Count() const {
  for (const auto& agent : agents_) {
    v1::ListJournalEntriesRequest request;
    request.set_session_id(agent->id());
    request.set_page_size(1);
    grpc::ClientContext context;
    v1::ListJournalEntriesResponse response;
    const grpc::Status status = served_.sessions().ListJournalEntries(&context, request, &response);
    if (!status.ok()) return FailedCall("ListJournalEntries", status);
    if (static_cast<uint64_t>(response.journal_number()) != entries_) {
      return absl::FailedPreconditionError("entries that were acknowledged are not there");
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench
