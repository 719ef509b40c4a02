#include "session/history_spans.h"

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

const SharedHistory* FindShared(const Head& head, Generation generation) {
  const auto found = std::ranges::find(head.shared, generation, &SharedHistory::generation);
  return found == head.shared.end() ? nullptr : &*found;
}

}  // namespace

std::vector<HistorySpan> SpansOf(const Head& head, Generation generation, MessageSeq messages) {
  std::vector<HistorySpan> spans;
  MessageSeq covered;
  const auto add = [&](const HistorySpan& span) {
    const MessageSeq last = std::min(span.last, messages);
    if (last <= covered) return;
    spans.push_back({.generation = span.generation, .last = last});
    covered = last;
  };
  if (const SharedHistory* shared = FindShared(head, generation)) {
    for (const HistorySpan& span : shared->spans) add(span);
  }
  add({.generation = generation, .last = messages});
  return spans;
}

const HistorySpan& SpanWith(const std::vector<HistorySpan>& spans, MessageSeq seq) {
  for (const HistorySpan& span : spans) {
    if (seq <= span.last) return span;
  }
  return spans.back();
}

std::map<Generation, MessageSeq> NamedMessages(const Head& head) {
  std::map<Generation, MessageSeq> named;
  const auto name = [&](Generation generation, MessageSeq messages) {
    for (const HistorySpan& span : SpansOf(head, generation, messages)) {
      MessageSeq& last = named[span.generation];
      last = std::max(last, span.last);
    }
  };
  named[head.generation] = MessageSeq();
  name(head.generation, head.messages);
  for (const SnapshotRecord& snapshot : head.snapshots) {
    name(snapshot.generation, snapshot.messages);
  }
  return named;
}

void RestoreHistory(const HistoryCut& cut, Head& head) {
  SharedHistory shared{.generation = head.generation.Next(),
                       .spans = SpansOf(head, cut.generation, cut.messages)};
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
