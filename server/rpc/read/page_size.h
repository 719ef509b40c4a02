// How many items a page of a list may have.
#ifndef HOLDFAST_SERVER_RPC_READ_PAGE_SIZE_H_
#define HOLDFAST_SERVER_RPC_READ_PAGE_SIZE_H_

#include "session/limits.h"

#include <algorithm>
#include <cstdint>

namespace holdfast {

// The number of items that a request's `page_size`, which is not negative, asks for: kPageDefault
// when it is 0. A value above kPageMost is cut down to it, as clients of other APIs expect.
inline uint32_t ItemsOfPage(int32_t page_size) {
  return page_size == 0 ? kPageDefault : std::min(static_cast<uint32_t>(page_size), kPageMost);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_PAGE_SIZE_H_
