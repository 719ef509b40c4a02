// What this build is: its version, and whether it is one for tests.
#ifndef HOLDFAST_SERVER_VERSION_H_
#define HOLDFAST_SERVER_VERSION_H_

#include "holdfast/version.h"

namespace holdfast {}  // namespace holdfast

#endif  // HOLDFAST_SERVER_VERSION_H_
