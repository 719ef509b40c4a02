#include "tests/support/sealed_items.h"

#include "session/limits.h"
#include "store-fs/layout.h"
#include "store-fs/recovery.h"
#include "store-fs/segment.h"
#include "store-fs/slot_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace holdfast::test {

fs::SessionState SealedState(fs::Files& files, const SessionKey& key) {
  constexpr char kHead[] = "head.";
  uint64_t newest = 0;
  const auto names = files.List(fs::DirectoryOf(key) + "/" + fs::kStateDirectory);
  EXPECT_TRUE(names.ok()) << names.status();
  if (!names.ok()) return {};
  for (const std::string& name : *names) {
    if (name.starts_with(kHead)) newest = std::max<uint64_t>(newest, std::stoul(name.substr(5)));
  }
  const auto bytes =
      fs::ReadWhole(files, fs::PathOf(key, fs::FileKind::kHead, newest), fs::kHeadFileBytes);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  std::optional<fs::SessionState> state = fs::DecodeSessionState(bytes.value_or(""));
  EXPECT_TRUE(state.has_value());
  return state.value_or(fs::SessionState());
}

std::vector<ItemPlace> SealedItems(fs::Files& files, const SessionKey& key,
                                   fs::NumberedLog fs::SessionState::*log) {
  const fs::SessionState state = SealedState(files, key);
  std::vector<ItemPlace> items;
  for (const fs::SegmentInfo& info : (state.*log).segments) {
    const auto places = fs::ReadPlaces(files, key, info);
    EXPECT_TRUE(places.ok()) << places.status();
    if (!places.ok()) continue;
    for (const fs::Extent& place : *places) {
      items.push_back({.path = fs::PathOf(key, fs::FileKind::kLog, info.file),
                       .offset = place.offset,
                       .size = place.size});
    }
  }
  return items;
}

std::vector<ItemPlace> SealedSlots(fs::Files& files, const SessionKey& key,
                                   const std::string& owner) {
  const fs::SessionState state = SealedState(files, key);
  std::vector<ItemPlace> places;
  const absl::Status visited =
      fs::VisitSlots({.files = files, .key = key}, state.slots.ViewOf({}),
                     [&](const fs::SlotEntry& entry, std::optional<Position>) {
                       if (entry.owner != owner || !entry.version) return;
                       const fs::Extent& where = entry.version->where;
                       places.push_back({.path = fs::PathOf(key, fs::FileKind::kLog, where.file),
                                         .offset = where.offset,
                                         .size = where.size});
                     });
  EXPECT_TRUE(visited.ok()) << visited;
  return places;
}

}  // namespace holdfast::test
