// Everything that a server answers about its sessions, call by call, so that the answers of one
// over damaged files can be held against those of before.
#ifndef HOLDFAST_TESTS_RECOVERY_WIRE_PICTURE_H_
#define HOLDFAST_TESTS_RECOVERY_WIRE_PICTURE_H_

#include "holdfast/v1/session_service.pb.h"

#include <map>
#include <string>
#include <vector>

namespace holdfast::testing {

namespace pb = ::holdfast::v1;

// By call ("alpha ReadMessages"): the answer as text, or "! REASON". What a successful answer marks
// as damaged, such as a slot without its bytes, is "! DAMAGED", too.
using Picture = std::map<std::string, std::string>;

struct SentRequest {
  std::string session;
  pb::Method method = pb::METHOD_UNSPECIFIED;
  std::string request_id;
};

// Asks the server at `address` by every method that reads. Each session has the slot `memory`.
Picture PictureOverWire(const std::string& address, const std::vector<std::string>& sessions,
                        const std::vector<SentRequest>& requests);

// Whether this answer says that something is damaged.
bool IsDamage(const std::string& answer);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_RECOVERY_WIRE_PICTURE_H_
