#include "session/history_spans.h"

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

const SharedHistory* FindShared(const Head& head, Generation generation) {
  const auto found = std::ranges::find(head.shared, generation, &SharedHistory::generation);
  return found == head.shared.end() ? nullptr : &*found;
}

// The first messages of a history that begins with `earlier`: up to the last one of `whole`, which
// names its own generation.
std::vector<HistorySpan> CutSpans(const std::vector<HistorySpan>& earlier,
                                  const HistorySpan& whole) {
  std::vector<HistorySpan> spans;
  MessageSeq covered;
  const auto add = [&](const HistorySpan& span) {
    const MessageSeq last = std::min(span.last, whole.last);
    if (last <= covered) return;
    spans.push_back({.generation = span.generation, .last = last});
    covered = last;
  };
  for (const HistorySpan& span : earlier) add(span);
  add(whole);
  return spans;
}

void Name(const std::vector<HistorySpan>& spans, std::map<Generation, MessageSeq>& named) {
  for (const HistorySpan& span : spans) {
    MessageSeq& last = named[span.generation];
    last = std::max(last, span.last);
  }
}

}  // namespace

std::vector<HistorySpan> SpansOf(const Head& head, Generation generation, MessageSeq messages) {
  const SharedHistory* const shared = FindShared(head, generation);
  return CutSpans(shared == nullptr ? std::vector<HistorySpan>() : shared->spans,
                  {.generation = generation, .last = messages});
}

const HistorySpan& SpanWith(const std::vector<HistorySpan>& spans, MessageSeq seq) {
  for (const HistorySpan& span : spans) {
    if (seq <= span.last) return span;
  }
  return spans.back();
}

std::map<Generation, MessageSeq> NamedMessages(const Head& head) {
  std::map<Generation, MessageSeq> named;
  named[head.generation] = MessageSeq();
  Name(SpansOf(head, head.generation, head.messages), named);
  for (const SnapshotRecord& snapshot : head.snapshots) {
    Name(SpansOf(head, snapshot.generation, snapshot.messages), named);
  }
  return named;
}

void NamePinned(const PinnedSnapshot& pinned, std::map<Generation, MessageSeq>& named) {
  Name(CutSpans(pinned.spans,
                {.generation = pinned.record.generation, .last = pinned.record.messages}),
       named);
}

void RestoreHistory(const HistoryCut& cut, Head& head) {
  SharedHistory shared{.generation = head.generation.Next(), .spans = cut.spans};
  if (shared.spans.empty()) shared.spans = SpansOf(head, cut.generation, cut.messages);
  head.generation = shared.generation;
  head.messages = cut.messages;
  head.history = cut.digest;
  if (!shared.spans.empty()) head.shared.push_back(std::move(shared));
}

void DropUnnamedHistories(Head& head) {
  if (head.shared.empty()) return;
  std::erase_if(head.shared, [&](const SharedHistory& shared) {
    return shared.generation != head.generation &&
           std::ranges::find(head.snapshots, shared.generation, &SnapshotRecord::generation) ==
               head.snapshots.end();
  });
}

}  // namespace holdfast
