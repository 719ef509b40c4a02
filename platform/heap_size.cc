#include "platform/heap_size.h"

namespace holdfast {

size_t AllocatedBytes(size_t bytes) {
  constexpr size_t kWord = sizeof(void*);
  return bytes == 0 ? 0 : kAllocationOverhead + (bytes + kWord - 1) / kWord * kWord;
}

size_t HeapSize(const std::string& text) {
  static const size_t kInPlace = std::string().capacity();
  return text.capacity() <= kInPlace ? 0 : AllocatedBytes(text.capacity() + 1);
}

}  // namespace holdfast
