// What a session's key and head hold on the heap, in bytes (platform/heap_size.h).
#ifndef HOLDFAST_SESSION_HEAP_SIZE_H_
#define HOLDFAST_SESSION_HEAP_SIZE_H_

#include "platform/heap_size.h"
#include "session/head.h"
#include "session/ids.h"

#include <cstddef>

namespace holdfast {

size_t HeapSize(const SessionKey& key);
size_t HeapSize(const Head& head);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HEAP_SIZE_H_
