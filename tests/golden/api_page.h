// docs/api-reference.md and the gRPC service config, made from the protos.
#ifndef HOLDFAST_TESTS_GOLDEN_API_PAGE_H_
#define HOLDFAST_TESTS_GOLDEN_API_PAGE_H_

#include <string>

namespace holdfast::test {

// The text of docs/api-reference.md: the methods with their rules, the reasons, the messages and
// the enums of protos/holdfast/v1 with their comments.
std::string ApiPage();

// The text of protos/holdfast/v1/service_config.json.
std::string ServiceConfigFile();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_GOLDEN_API_PAGE_H_
