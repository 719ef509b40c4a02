#include "tests/support/reference_bounds.h"

#include "session/limits.h"
#include "session/model.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace holdfast::test {
namespace {

// How much of something there may be, was and is.
struct Amount {
  std::string_view field;
  size_t limit;
  size_t before;
  size_t after;
};

size_t AttributeBytes(const std::map<std::string, std::string>& attributes) {
  size_t bytes = 0;
  for (const auto& [key, value] : attributes) bytes += key.size() + value.size();
  return bytes;
}

// The owners of the slots that are there now. The store's own slot does not count (C201).
std::set<std::string> OwnersIn(const StoredSession& session) {
  std::set<std::string> owners;
  for (const auto& [owner, versions] : session.slots) {
    if (versions.back().slot) owners.insert(owner);
  }
  owners.erase(kStoreSlotOwner);
  return owners;
}

std::set<std::string> OwnersAfter(std::set<std::string> owners, const Effects& effects) {
  for (const SlotWrite& write : effects.slots) {
    if (write.slot) {
      owners.insert(write.owner);
    } else {
      owners.erase(write.owner);
    }
  }
  owners.erase(kStoreSlotOwner);
  return owners;
}

}  // namespace

std::optional<Refusal> CheckWhatIsLeft(const StoredSession& session, const Head& before,
                                       const Effects& effects) {
  const auto& attributes = effects.head.attributes;
  const std::set<std::string> owners = OwnersIn(session);
  const Amount amounts[] = {
      {"attributes", kAttributesPerSession, before.attributes.size(), attributes.size()},  // C198
      {"attributes", kAttributeBytesPerSession, AttributeBytes(before.attributes),
       AttributeBytes(attributes)},
      {"slots", kSlotsPerSession, owners.size(),
       OwnersAfter(owners, effects).size()},  // C200, C201
  };
  for (const Amount& amount : amounts) {
    const bool grows = amount.after > amount.before;  // C202
    if (grows && amount.after > amount.limit) {
      return TooLarge(amount.field, amount.limit, amount.after);
    }
  }
  return std::nullopt;
}

}  // namespace holdfast::test
