// Items: ranges of keys, and the record of an item's facts.
#include "session/item.h"

#include "session/codec/item_facts.h"
#include "session/item_query.h"
#include "session/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

namespace holdfast {
namespace {

Item FullItem() {
  Item item;
  item.name = {.collection = "notes", .key = std::string("k\0", 2)};
  item.labels = {{"text", std::string("x")},
                 {"empty", std::string()},
                 {"least", std::numeric_limits<int64_t>::min()},
                 {"most", std::numeric_limits<int64_t>::max()},
                 {"half", -0.5},
                 {"no", false},
                 {"yes", true}};
  item.content_type = "application/json";
  item.parent_key = std::string("\0p", 2);
  item.refs = {{.collection = "other", .key = "r"}, {.collection = "notes", .key = ""}};
  item.data = "data";
  return item;
}

TEST(KeyRange, OfAPrefixHasTheKeysThatBeginWithIt) {
  const std::vector<std::string> prefixes = {
      "", "a", "a/", "a\xff", "\xff", "\xff\xff", std::string("a\0", 2)};
  const std::vector<std::string> keys = {"",         std::string("\0", 1),
                                         "a",        std::string("a\0", 2),
                                         "a/",       "a/1",
                                         "a\xff",    "a\xff\xff",
                                         "b",        "\xff",
                                         "\xff\xff", "\xff\xff\xff"};
  for (const std::string& prefix : prefixes) {
    const KeyRange range = KeysWithPrefix(prefix);
    for (const std::string& key : keys) {
      EXPECT_EQ(range.Contains(key), key.starts_with(prefix)) << prefix << ' ' << key;
    }
  }
}

TEST(KeyRange, IsEmptyWhereItEndsBeforeItBegins) {
  EXPECT_TRUE((KeyRange{.start = "b", .end = "a"}.empty()));
  EXPECT_TRUE((KeyRange{.start = "a", .end = "a"}.empty()));
  EXPECT_FALSE((KeyRange{.start = "a", .end = ""}.empty()));
  EXPECT_FALSE(KeyRange().empty());
}

TEST(ItemFacts, AreReadAsTheyWereWritten) {
  const Item item = FullItem();
  Item read;
  read.name = item.name;
  read.data = item.data;
  ASSERT_TRUE(DecodeItemFacts(EncodeItemFacts(item), read));
  EXPECT_TRUE(read == item);
  Item nothing;
  ASSERT_TRUE(DecodeItemFacts(EncodeItemFacts(Item()), nothing));
  EXPECT_TRUE(nothing == Item());
}

TEST(ItemFacts, AnyOtherBytesAreRefused) {
  const std::string whole = EncodeItemFacts(FullItem());
  for (size_t size = 0; size < whole.size(); ++size) {
    Item item;
    EXPECT_FALSE(DecodeItemFacts(whole.substr(0, size), item)) << size;
  }
  Item item;
  EXPECT_FALSE(DecodeItemFacts(whole + "x", item));
  std::string version = whole;
  version[0] = 2;
  EXPECT_FALSE(DecodeItemFacts(version, item));
  Item crowded = FullItem();
  crowded.refs.resize(kItemRefs + 1);
  EXPECT_FALSE(DecodeItemFacts(EncodeItemFacts(crowded), item));
}

TEST(ItemFacts, LabelsAreDifferentBytesUnlessTheyAreEqual) {
  const std::vector<LabelValue> values = {
      std::string("1"), std::string(), int64_t{1}, int64_t{0}, int64_t{-1}, 1.0, 0.0, true, false};
  std::set<std::string> bytes;
  for (const char* const name : {"a", "b", ""}) {
    for (const LabelValue& value : values) bytes.insert(EncodeLabel(name, value));
  }
  EXPECT_EQ(bytes.size(), 3 * values.size());
  EXPECT_EQ(EncodeLabel("a", int64_t{1}), EncodeLabel("a", int64_t{1}));
}

TEST(ItemFacts, TakeRoomWithNameAndData) {
  Item item = FullItem();
  const uint64_t bytes = ItemBytes(item);
  item.data = "data and more";
  EXPECT_EQ(ItemBytes(item), bytes + 9);
  item.name.key += "12";
  EXPECT_EQ(ItemBytes(item), bytes + 11);
  item.content_type += "3";
  EXPECT_EQ(ItemBytes(item), bytes + 12);
}

TEST(ItemLabels, AreWantedWithTypeAndValue) {
  const Item item = FullItem();
  EXPECT_TRUE(HasLabels(item, {}));
  EXPECT_TRUE(HasLabels(item, {{"yes", true}, {"half", -0.5}}));
  EXPECT_FALSE(HasLabels(item, {{"yes", true}, {"half", 0.5}}));
  EXPECT_FALSE(HasLabels(item, {{"yes", std::string("true")}}));
  EXPECT_FALSE(HasLabels(item, {{"absent", true}}));
}

}  // namespace
}  // namespace holdfast
