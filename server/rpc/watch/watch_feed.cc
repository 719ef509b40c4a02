#include "server/rpc/watch/watch_feed.h"

#include "holdfast/v1/watch.pb.h"
#include "platform/status_macros.h"
#include "server/rpc/convert/session.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>

namespace holdfast {
namespace {

// One page as the store answers it and once more as messages.
constexpr size_t kFeedReadBytes = 2 * kWatchPageBytes;
// An event beside its message.
constexpr size_t kEventBytes = 256;

std::atomic<uint64_t> watch_reads = 0;

// Takes only what a page has turned out to need.
void Shrink(Admission& admission, size_t bytes, Admission::Ticket& memory) {
  if (bytes >= kFeedReadBytes) return;
  absl::StatusOr<Admission::Ticket> less = admission.AdmitBytes(bytes);
  if (less.ok()) memory = *std::move(less);
}

}  // namespace

uint64_t WatchReadsNow() { return watch_reads; }

void WatchFeed::Touch() {
  const absl::MutexLock lock(&mutex_);
  ++touched_;
}

void WatchFeed::Trim() {
  const absl::MutexLock lock(&mutex_);
  std::erase_if(pages_, [](Page& page) { return !std::exchange(page.used, false); });
}

absl::StatusOr<WatchFeed::Step> WatchFeed::Next(Place place,
                                                const std::shared_ptr<Watcher>& watcher) {
  uint64_t touched = 0;
  absl::StatusOr<Admission::Ticket> memory;
  {
    const absl::MutexLock lock(&mutex_);
    Step step = Known(place);
    if (step.kind != Step::Kind::kPending) return step;
    if (reading_) {
      pending_.push_back(watcher);
      return step;
    }
    memory = admission_.AdmitBytes(kFeedReadBytes);
    // A watch that began is not ended by load.
    if (!memory.ok()) return Step{.kind = Step::Kind::kNoRoom, .event = nullptr};
    reading_ = true;
    touched = touched_;
  }
  absl::StatusOr<Outcome> outcome;
  std::exception_ptr thrown;
  try {
    outcome = Read(place.after);
  } catch (...) {
    // It ends the watch that read. The others, which wait for it, read for themselves.
    thrown = std::current_exception();
  }
  std::vector<std::shared_ptr<Watcher>> pending;
  absl::StatusOr<Step> step = Step{};
  {
    const absl::MutexLock lock(&mutex_);
    reading_ = false;
    pending.swap(pending_);
    if (outcome.ok()) {
      outcome->page.memory = *std::move(memory);
      Take(*std::move(outcome), touched);
      step = Known(place);
      // Something new since the read began: the watcher has been woken for it.
      if (step->kind == Step::Kind::kPending) step->kind = Step::Kind::kWait;
    } else {
      step = outcome.status();
    }
  }
  for (const auto& other : pending) other->Resume();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return step;
}

absl::StatusOr<WatchFeed::Outcome> WatchFeed::Read(EventSeq after) const {
  ++watch_reads;
  const absl::StatusOr<EventPage> read =
      store_.ReadEvents(key_, after, {.items = kWatchPageItems, .bytes = kWatchPageBytes});
  if (Is(read.status(), Reason::kTombstoned)) return ReadLast(after, read.status());
  RETURN_IF_ERROR(read.status());
  RETURN_IF_ERROR(CheckSameSession(read->uid, uid_));
  Outcome outcome{.page = {.after = after, .last = after}, .end = read->end};
  for (const Event& event : read->events) Add(event, outcome.page);
  return outcome;
}

absl::StatusOr<WatchFeed::Outcome> WatchFeed::ReadLast(EventSeq after,
                                                       const absl::Status& tombstoned) const {
  ASSIGN_OR_RETURN(const Event last, store_.ReadLastEvent(key_));
  // What came before it is gone with the session: better no end than a gap.
  if (last.seq != after.Next() && last.seq != after) {
    Refusal refusal = RefusalOf(tombstoned);
    refusal.Add("last_event", std::to_string(last.seq.value()));
    return refusal;
  }
  Outcome outcome{.page = {.after = after, .last = after}, .end = true, .over = true};
  if (last.seq != after) Add(last, outcome.page);
  return outcome;
}

void WatchFeed::Add(const Event& event, Page& page) const {
  holdfast::v1::WatchSessionResponse message;
  Write(event, *message.mutable_event());
  message.set_cursor(cursors_.Make(event.seq));
  auto made = std::make_shared<WatchedEvent>(
      WatchedEvent{.seq = event.seq, .time = event.time, .message = ToBytes(message)});
  page.last = event.seq;
  page.bytes += made->message.Length() + kEventBytes;
  page.events.push_back(std::move(made));
}

WatchFeed::Step WatchFeed::Known(Place place) {
  if (auto event = Find(place.after)) {
    return {.kind = Step::Kind::kSend, .event = std::move(event)};
  }
  if (!AtEnd(place)) return {.kind = Step::Kind::kPending, .event = nullptr};
  return {.kind = over_ ? Step::Kind::kOver : Step::Kind::kWait, .event = nullptr};
}

bool WatchFeed::AtEnd(Place place) const {
  if (place.after < end_ || end_ < place.known) return false;
  return over_ || answered_ == touched_;
}

std::shared_ptr<const WatchedEvent> WatchFeed::Find(EventSeq after) {
  // The newest page first: most watchers are there.
  for (auto page = pages_.rbegin(); page != pages_.rend(); ++page) {
    if (after < page->after || after >= page->last) continue;
    const auto next = std::ranges::upper_bound(page->events, after, {},
                                               [](const auto& event) { return event->seq; });
    page->used = true;
    return *next;
  }
  return nullptr;
}

void WatchFeed::Take(Outcome outcome, uint64_t touched) {
  const EventSeq last = outcome.page.last;
  if (outcome.end && last >= end_) {
    end_ = last;
    answered_ = touched;
    over_ = over_ || outcome.over;
  }
  if (!outcome.page.events.empty()) Keep(std::move(outcome.page));
}

void WatchFeed::Keep(Page page) {
  // What comes a few events at a time becomes one page, for those who come a little later.
  const auto before = std::ranges::find(pages_, page.after, &Page::last);
  if (before != pages_.end() && before->events.size() + page.events.size() <= kWatchPageItems &&
      before->bytes + page.bytes <= kWatchPageBytes) {
    page.events.insert(page.events.begin(), before->events.begin(), before->events.end());
    page.after = before->after;
    page.bytes += before->bytes;
    pages_.erase(before);
  }
  Shrink(admission_, page.bytes, page.memory);
  if (pages_.size() == kFeedPages) pages_.erase(pages_.begin());
  pages_.push_back(std::move(page));
}

}  // namespace holdfast
