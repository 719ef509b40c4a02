#include "session/audit_facts.h"

#include "session/limits.h"

#include <cstddef>
#include <utility>

namespace holdfast {
namespace {

// Whether `byte` is one of a character of UTF-8 but not its first.
bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// The longest beginning of `text` with at most `most` bytes that ends behind a whole character.
size_t CutPlace(const std::string& text, size_t most) {
  constexpr size_t kLongestCharacter = 4;
  size_t place = most;
  while (place > most - kLongestCharacter && Continues(text[place])) --place;
  return Continues(text[place]) ? most : place;  // text that is not UTF-8 has no such border
}

}  // namespace

AuditFacts CutLongFacts(AuditFacts facts) {
  AuditFacts cuts;
  for (auto& [name, value] : facts) {
    if (value.size() <= kAuditValueBytes) continue;
    const size_t place = CutPlace(value, kAuditValueBytes);
    cuts.emplace(std::string(kCutFactPrefix) + name, std::to_string(value.size() - place));
    value.resize(place);
  }
  facts.merge(std::move(cuts));
  return facts;
}

}  // namespace holdfast
