// The kinds of files in a session's directory state/.
#ifndef HOLDFAST_STORE_FS_FILE_KIND_H_
#define HOLDFAST_STORE_FS_FILE_KIND_H_

#include <cstdint>

namespace holdfast::fs {

enum class FileKind : uint8_t {
  kHead,
  kLog,
  kIndex,
  kRun,       // of slot versions
  kItemsRun,  // of items
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_FILE_KIND_H_
