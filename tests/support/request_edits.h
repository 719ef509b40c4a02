// Changes of the requests of any method, by the names of their fields.
#ifndef HOLDFAST_TESTS_SUPPORT_REQUEST_EDITS_H_
#define HOLDFAST_TESTS_SUPPORT_REQUEST_EDITS_H_

#include "holdfast/v1/session.pb.h"

#include "google/protobuf/message.h"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::testing {

// Sets each text, or number of 64 bits, of this name in `request` and in the messages that it has.
void SetTexts(google::protobuf::Message& request, const std::string& name, const std::string& text);
void SetNumbers(google::protobuf::Message& request, const std::string& name, int64_t number);

// The requests of the call that `request` begins, and that also sends `slot`: its data alone where
// the method takes no slots, its owner alone where it reads them.
std::vector<std::string> CallWithSlot(google::protobuf::Message& request, const v1::Slot& slot);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_REQUEST_EDITS_H_
