#include "session/marks.h"

#include <algorithm>

namespace holdfast {
namespace {

bool Informs(const CancelMark& mark) {
  return mark.scope == CancelScope::kStage || mark.scope == CancelScope::kTool;
}

}  // namespace

const CancelMark* SessionMark(const Head& head) {
  const auto found = std::ranges::find(head.marks, CancelScope::kSession, &CancelMark::scope);
  return found == head.marks.end() ? nullptr : &*found;
}

const CancelMark* EndingMark(const Head& head) {
  if (head.lifecycle == Lifecycle::kClosed) return nullptr;
  const auto found =
      std::ranges::find_if(head.marks, [](const CancelMark& mark) { return !Informs(mark); });
  return found == head.marks.end() ? nullptr : &*found;
}

bool HasMark(const Head& head, const CancelMark& mark) {
  return std::ranges::any_of(head.marks,
                             [&](const CancelMark& there) { return there.SameAs(mark); });
}

size_t InformingMarks(const Head& head) {
  return static_cast<size_t>(std::ranges::count_if(head.marks, Informs));
}

bool EndIsDue(const Head& head, absl::Duration marked_for, absl::Duration grace) {
  if (EndingMark(head) == nullptr) return false;
  return !head.turn || marked_for >= grace;
}

}  // namespace holdfast
