// Requests that a hostile client sends, derived from the descriptors of the API: a field that is
// added to a message is attacked without a change here.
#ifndef HOLDFAST_TESTS_HOSTILE_BAD_REQUESTS_H_
#define HOLDFAST_TESTS_HOSTILE_BAD_REQUESTS_H_

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::hostile {

// One request as bytes, and what is wrong with it.
struct BadRequest {
  std::string what;  // "manifest.project_root: not UTF-8"
  std::string bytes;
};

// Makes a valid request, another one at each call.
using MakeRequest = std::function<std::unique_ptr<google::protobuf::Message>()>;
// Makes the bytes of one bad request when it is to be sent.
using MakeBad = std::function<BadRequest()>;

// For every field of the request, at every depth: each bad value of its type, and for a repeated
// one each count at and over a limit. `seed` decides the random bytes.
std::vector<MakeBad> BadFields(const MakeRequest& make, uint64_t seed);

// Mutations of the texts that the server seals or grants (tokens, cursors and page tokens): bits
// flipped, cut, prolonged, in another spelling; `count` for each field that has one.
std::vector<MakeBad> MutatedSecrets(const MakeRequest& make, int count, uint64_t seed);

// `count` requests of random bytes, and as many that are valid but for some bytes.
std::vector<MakeBad> RandomBytes(const MakeRequest& make, int count, uint64_t seed);

}  // namespace holdfast::hostile

#endif  // HOLDFAST_TESTS_HOSTILE_BAD_REQUESTS_H_
