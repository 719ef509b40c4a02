// Everything that a store answers about its sessions, call by call, so that the answers of a store
// whose files were changed can be held against those of the whole one.
#ifndef HOLDFAST_TESTS_FAULTS_SESSION_PICTURE_H_
#define HOLDFAST_TESTS_FAULTS_SESSION_PICTURE_H_

#include "session/store.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

// What is asked: sessions with the requests that they answered and the uploads that they hold.
struct Subject {
  SessionKey key;
  std::vector<RequestId> requests;
  std::set<StagedBytes, bool (*)(const StagedBytes&, const StagedBytes&)> staged{
      [](const StagedBytes& a, const StagedBytes& b) {
        return std::pair(a.upload.value(), a.offset) < std::pair(b.upload.value(), b.offset);
      }};
};

// The collection whose items are read.
inline constexpr char kPaintedItems[] = "notes";

// By call ("alpha messages behind 3"): the answer as text, or "! REASON".
using Picture = std::map<std::string, std::string>;

// One call for each item of each kind, so that a damaged one is seen to fail its own call alone.
Picture PictureOf(SessionStore& store, const std::vector<Subject>& subjects);

// The name of the reason of a refusal; "OK" for none.
std::string ReasonNameOf(const absl::Status& status);

// Whether this answer is a refusal for damage.
bool IsDamage(const std::string& answer);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_FAULTS_SESSION_PICTURE_H_
