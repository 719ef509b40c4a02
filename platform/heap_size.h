// What values hold on the heap, in bytes: what a cache that is bounded by memory counts.
#ifndef HOLDFAST_PLATFORM_HEAP_SIZE_H_
#define HOLDFAST_PLATFORM_HEAP_SIZE_H_

#include <cstddef>
#include <string>

namespace holdfast {

// What the allocator adds to one allocation.
inline constexpr size_t kAllocationOverhead = 16;

// What the allocator takes for `bytes`: it hands out whole words.
size_t AllocatedBytes(size_t bytes);

// The object itself is not counted, only what it allocated; no byte is counted too little.
size_t HeapSize(const std::string& text);

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_HEAP_SIZE_H_
