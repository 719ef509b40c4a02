// What every store of files says of itself.
#ifndef HOLDFAST_STORE_FS_DESCRIPTION_H_
#define HOLDFAST_STORE_FS_DESCRIPTION_H_

#include "session/store.h"

namespace holdfast::fs {

// Without what is one store's own.
StoreDescription DescribeFs();

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_DESCRIPTION_H_
