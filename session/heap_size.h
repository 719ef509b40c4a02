// What values hold on the heap, in bytes: what a cache that is bounded by memory counts.
#ifndef HOLDFAST_SESSION_HEAP_SIZE_H_
#define HOLDFAST_SESSION_HEAP_SIZE_H_

#include "session/head.h"
#include "session/ids.h"

#include <cstddef>
#include <string>

namespace holdfast {

// What the allocator adds to one allocation.
inline constexpr size_t kAllocationOverhead = 16;

// The object itself is not counted, only what it allocated; no byte is counted too little.
size_t HeapSize(const std::string& text);
size_t HeapSize(const SessionKey& key);
size_t HeapSize(const Head& head);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HEAP_SIZE_H_
