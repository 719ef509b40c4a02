#include "session/heap_size.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

using holdfast::HeapSize;  // the overloads below would hide them

// Links and colour of a node of std::map.
constexpr size_t kMapNode = 4 * sizeof(void*);

template <typename Tag>
size_t HeapSize(const Id<Tag>& id) {
  return HeapSize(id.value());
}

// Of a vector whose elements allocate nothing.
template <typename T>
size_t PlainSize(const std::vector<T>& items) {
  return AllocatedBytes(items.capacity() * sizeof(T));
}

size_t HeapSize(const std::map<std::string, std::string>& map) {
  using Item = std::pair<const std::string, std::string>;
  size_t bytes = 0;
  for (const auto& [name, value] : map) {
    bytes += AllocatedBytes(kMapNode + sizeof(Item)) + HeapSize(name) + HeapSize(value);
  }
  return bytes;
}

size_t HeapSize(const std::vector<CancelRequest>& cancel_requests) {
  size_t bytes = PlainSize(cancel_requests);
  for (const CancelRequest& cancel_request : cancel_requests) {
    bytes += HeapSize(cancel_request.name);
  }
  return bytes;
}

size_t HeapSize(const std::vector<SharedHistory>& histories) {
  size_t bytes = PlainSize(histories);
  for (const SharedHistory& history : histories) bytes += PlainSize(history.spans);
  return bytes;
}

size_t HeapSize(const TraceRef& trace) { return HeapSize(trace.id); }

size_t HeapSize(const TurnRecord& turn) {
  return HeapSize(turn.trace) + HeapSize(turn.parent_span_id);
}

size_t HeapSize(const StateMachineRef& sm) { return HeapSize(sm.ext_id) + HeapSize(sm.slot_ref); }

template <typename T>
size_t HeapSize(const std::optional<T>& value) {
  return value ? HeapSize(*value) : 0;
}

}  // namespace

size_t HeapSize(const SessionKey& key) { return HeapSize(key.tenant) + HeapSize(key.session); }

size_t HeapSize(const Head& head) {
  return HeapSize(head.store) + HeapSize(head.uid) + HeapSize(head.lease.holder) +
         PlainSize(head.grants) + HeapSize(head.turn) + HeapSize(head.last_committed_request) +
         PlainSize(head.ended) + HeapSize(head.ended_turn_trace) + HeapSize(head.snapshot_trace) +
         HeapSize(head.group) + HeapSize(head.project_root) + HeapSize(head.sm) +
         PlainSize(head.snapshots) + HeapSize(head.shared) + HeapSize(head.attributes) +
         PlainSize(head.checkpoints.own) + HeapSize(head.cancel_requests);
}

}  // namespace holdfast
