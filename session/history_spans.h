// Histories that share messages. A history that was restored begins with messages of earlier ones,
// which are stored once, under the generation that they were added to, and keep their numbers.
#ifndef HOLDFAST_SESSION_HISTORY_SPANS_H_
#define HOLDFAST_SESSION_HISTORY_SPANS_H_

#include "session/checkpoint.h"
#include "session/head.h"
#include "session/ids.h"

#include <map>
#include <vector>

namespace holdfast {

// Where the first `messages` messages of the history `generation` are stored: in order, without a
// span that would be empty. The history must be one that `head` or a snapshot of it names.
std::vector<HistorySpan> SpansOf(const Head& head, Generation generation, MessageSeq messages);

// The one of `spans`, at least one, that message `seq` lies in. Of a number behind them it is the
// last one.
const HistorySpan& SpanWith(const std::vector<HistorySpan>& spans, MessageSeq seq);

// The last message of each generation that the history of `head` or a kept snapshot names. The
// generation of `head` is always there.
std::map<Generation, MessageSeq> NamedMessages(const Head& head);

// Adds the messages that a pinned snapshot names.
void NamePinned(const PinnedSnapshot& pinned, std::map<Generation, MessageSeq>& named);

// Begins the history that a change restores: the first messages of a kept one, in a new generation.
void RestoreHistory(const HistoryCut& cut, Head& head);

// Forgets the spans of histories that neither the head nor a kept snapshot names.
void DropUnnamedHistories(Head& head);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HISTORY_SPANS_H_
