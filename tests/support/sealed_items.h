// Where the items of a session lie in its sealed logs, for tests that change bytes of them.
#ifndef HOLDFAST_TESTS_SUPPORT_SEALED_ITEMS_H_
#define HOLDFAST_TESTS_SUPPORT_SEALED_ITEMS_H_

#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/session_state.h"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {

struct ItemPlace {
  std::string path;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// What the session's head file says, of the newest one that there is.
fs::SessionState SealedState(fs::Files& files, const SessionKey& key);

// The sealed items of one of its logs, in the order of their numbers.
std::vector<ItemPlace> SealedItems(fs::Files& files, const SessionKey& key,
                                   fs::NumberedLog fs::SessionState::*log);

// The sealed records of an owner's slot, of each version that the head file names or its runs have.
std::vector<ItemPlace> SealedSlots(fs::Files& files, const SessionKey& key,
                                   const std::string& owner);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_SEALED_ITEMS_H_
