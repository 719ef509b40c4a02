// Request ids: the client chooses one for each thing it means to do, and keeps it while it repeats.
#ifndef HOLDFAST_CLI_REQUEST_ID_H_
#define HOLDFAST_CLI_REQUEST_ID_H_

#include <string>

namespace holdfast::cli {

// A random UUID (version 4). Any thread may call.
std::string NewRequestId();

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REQUEST_ID_H_
