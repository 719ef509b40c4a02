#include "store-postgres/key_spans.h"

#include "session/limits.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

KeySpan SpanOf(const ItemDelete& wanted) {
  if (const auto* const key = std::get_if<std::string>(&wanted.keys)) {
    return {.collection = wanted.collection, .start = *key, .end = NextKey(*key)};
  }
  const auto& range = std::get<KeyRange>(wanted.keys);
  return {.collection = wanted.collection, .start = range.start, .end = EndOf(range)};
}

}  // namespace

std::string NextKey(const std::string& key) { return key + '\0'; }

std::string EndOf(const KeyRange& range) {
  constexpr char kGreatest = '\xff';
  return range.end.empty() ? std::string(kItemKeyBytes + 1, kGreatest) : range.end;
}

DeletedSpans::DeletedSpans(const std::vector<ItemDelete>& deletes) {
  std::vector<KeySpan> named;
  for (const ItemDelete& wanted : deletes) {
    KeySpan span = SpanOf(wanted);
    if (span.start < span.end) named.push_back(std::move(span));
  }
  std::ranges::sort(named, [](const KeySpan& a, const KeySpan& b) {
    return std::tie(a.collection, a.start) < std::tie(b.collection, b.start);
  });
  for (KeySpan& span : named) {
    const bool goes_on = !spans_.empty() && spans_.back().collection == span.collection &&
                         span.start <= spans_.back().end;
    if (!goes_on) {
      spans_.push_back(std::move(span));
    } else if (spans_.back().end < span.end) {
      spans_.back().end = std::move(span.end);
    }
  }
}

bool DeletedSpans::Contain(const ItemName& name) const {
  // The first span behind the name; the one before it is the only one that may have it.
  const auto behind = std::ranges::upper_bound(
      spans_, std::tie(name.collection, name.key), std::less<>(),
      [](const KeySpan& span) { return std::tie(span.collection, span.start); });
  if (behind == spans_.begin()) return false;
  const KeySpan& span = *std::prev(behind);
  return span.collection == name.collection && name.key < span.end;
}

}  // namespace holdfast::pg
