// Items as text, without a server: keys and labels both ways, rows, and the parts of a stream.
#include "cli/invocation.h"
#include "cli/item_key.h"
#include "cli/item_label.h"
#include "cli/item_list_writer.h"
#include "cli/item_pages.h"
#include "cli/item_row.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>
#include <sstream>
#include <string>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ItemKey, TextIsItself) {
  for (const char* key : {"plan", "a/b c", "hex", "HEX:00", "[a,b]", "\u00e4\u20ac", "-1"}) {
    EXPECT_EQ(KeyText(key), key);
    EXPECT_EQ(*ParseKey(key), key);
  }
}

TEST(ItemKey, OtherBytesAreHexadecimal) {
  EXPECT_EQ(KeyText(std::string("\0\x01\xFF", 3)), "hex:0001ff");
  EXPECT_EQ(KeyText("hex:00"), "hex:6865783a3030") << "it would be taken for one byte";
  EXPECT_EQ(KeyText("a\n"), "hex:610a");
  EXPECT_EQ(KeyText("a\x1b"), "hex:611b");
  EXPECT_EQ(KeyText("a\u202E"), "hex:61e280ae") << "it reorders the text beside it";
  EXPECT_EQ(*ParseKey("hex:0001fF"), std::string("\0\x01\xFF", 3));
}

TEST(ItemKey, EveryByteIsTakenBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string key(1, static_cast<char>(byte));
    EXPECT_EQ(*ParseKey(KeyText(key)), key) << byte;
    all += key;
  }
  EXPECT_EQ(*ParseKey(KeyText(all)), all);
  EXPECT_EQ(*ParseKey(KeyText("hex:zz")), "hex:zz");
}

TEST(ItemKey, RefusesWhatNamesNone) {
  for (const char* text : {"", "hex:", "hex:0", "hex:0g", "hex: 00", "hex:00 ", "hex:0x00"}) {
    EXPECT_FALSE(ParseKey(text).ok()) << text;
  }
  EXPECT_THAT(std::string(ParseKey("hex:0").status().message()), HasSubstr("`hex:0` is no key"));
}

TEST(ItemKey, OfAnAppendedItemIsItsVersion) {
  EXPECT_EQ(KeyText(KeyOfAppended(1)), "hex:0000000000000001");
  EXPECT_EQ(KeyText(KeyOfAppended(0x0102030405060708)), "hex:0102030405060708");
}

TEST(ItemLabel, IsATextOrAValueOfJson) {
  const auto text = [](const char* label) { return ParseLabel(label)->second.string_value(); };
  EXPECT_EQ(ParseLabel("owner=ann")->first, "owner");
  EXPECT_EQ(text("owner=ann"), "ann");
  EXPECT_EQ(text("owner=true"), "true");
  EXPECT_EQ(text("owner="), "");
  EXPECT_TRUE(ParseLabel("owner=")->second.has_string_value());
  EXPECT_EQ(text("formula=a:=b=c"), "a:=b=c");
  EXPECT_EQ(text(R"(line:="a\nb")"), "a\nb");
  EXPECT_EQ(ParseLabel("draft:=true")->first, "draft");
  EXPECT_TRUE(ParseLabel("draft:=true")->second.bool_value());
  EXPECT_TRUE(ParseLabel("draft:=false")->second.has_bool_value());
  EXPECT_EQ(ParseLabel("step:=-3")->second.int_value(), -3);
  EXPECT_EQ(ParseLabel("step:=9223372036854775807")->second.int_value(),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseLabel("score:=3.0")->second.double_value(), 3.0);
  EXPECT_EQ(ParseLabel("score:=3e2")->second.double_value(), 300);
}

TEST(ItemLabel, RefusesOtherForms) {
  for (const char* text : {"", "owner", "=ann", ":=true", "a:=", "a:=maybe", "a:=null", "a:=[1]",
                           "a:={}", "a:=1 2", "a:=9223372036854775808", "a:=-9223372036854775809",
                           "a:=99999999999999999999", "a:=1e999", "a:=NaN"}) {
    EXPECT_FALSE(ParseLabel(text).ok()) << text;
  }
}

TEST(ItemLabel, IsPrintedAsItIsGiven) {
  for (const char* text : {"owner=ann", "owner=", "draft:=true", "draft:=false", "step:=-3",
                           "score:=3.0", "score:=0.1", "score:=1e+300"}) {
    const NamedLabel label = *ParseLabel(text);
    EXPECT_EQ(LabelText(label.first, label.second), text);
  }
  EXPECT_EQ(LabelText("new", v1::Label()), "new:=?") << "of a type that is not known";
}

v1::ReadItemsResponse PieceOf(const std::string& key, const std::string& data, int64_t offset,
                              int64_t total) {
  v1::ReadItemsResponse response;
  v1::ItemPiece& piece = *response.add_pieces();
  piece.mutable_item()->set_key(key);
  piece.mutable_item()->set_data(data);
  piece.set_chunk_offset(offset);
  piece.set_total_bytes(total);
  return response;
}

TEST(ItemPages, JoinTheParts) {
  ItemEntryPage page;
  v1::ReadItemsResponse first = PieceOf("a", "wat", 0, 5);
  v1::ReadItemsResponse second = PieceOf("a", "er", 3, 5);
  *second.add_pieces() = PieceOf("b", "", 0, 0).pieces(0);
  v1::ReadItemsResponse end;
  end.set_next_page_token("t");
  EXPECT_TRUE(page.Add(first) && page.Add(second) && page.Add(end));
  ASSERT_EQ(page.items.size(), 2);
  EXPECT_EQ(page.items[0].item.data(), "water");
  EXPECT_EQ(page.items[0].size, 5);
  EXPECT_EQ(page.items[1].item.key(), "b");
  EXPECT_EQ(page.end.next_page_token(), "t");
  EXPECT_EQ(page.end.pieces_size(), 0);
}

TEST(ItemPages, RefuseAPartThatDoesNotFollow) {
  v1::ReadItemsResponse alone = PieceOf("a", "er", 3, 5);
  EXPECT_FALSE(ItemEntryPage().Add(alone));
  for (v1::ReadItemsResponse& other : std::vector<v1::ReadItemsResponse>{
           PieceOf("a", "r", 4, 5), PieceOf("a", "t", 2, 5), PieceOf("b", "er", 3, 5)}) {
    ItemEntryPage page;
    v1::ReadItemsResponse first = PieceOf("a", "wat", 0, 5);
    EXPECT_TRUE(page.Add(first));
    EXPECT_FALSE(page.Add(other));
  }
}

ItemEntry Entry(const std::string& key, const std::string& data) {
  ItemEntry entry{.size = static_cast<int64_t>(data.size())};
  entry.item.set_key(key);
  entry.item.set_version(7);
  entry.item.set_data(data);
  entry.item.mutable_update_time()->set_seconds(1'700'000'000);
  return entry;
}

TEST(ItemRow, ShowsTextShortenedAndOtherDataAsItsSize) {
  ItemEntry entry = Entry("plan", "water\nthe beds");
  (*entry.item.mutable_labels())["step"].set_int_value(3);
  (*entry.item.mutable_labels())["owner"].set_string_value("ann");
  EXPECT_THAT(ItemRow(entry), ElementsAre("plan", "7", "14", "owner=ann step:=3",
                                          "2023-11-14T22:13:20Z", "water\\nthe beds"));
  const std::string cut = ItemRow(Entry("a", std::string(100, 'x'))).back();
  EXPECT_THAT(cut, StartsWith(std::string(79, 'x')));
  EXPECT_THAT(cut, EndsWith("x\u2026"));
  EXPECT_EQ(ItemRow(Entry("a", "\xFF")).back(), "");
  EXPECT_EQ(ItemRow(Entry("a", "\x1b[2J")).back(), "");
}

TEST(ItemRow, ShowsOfADamagedItemItsName) {
  ItemEntry entry{.size = 5, .damaged = true};
  entry.item.set_key("plan");
  EXPECT_THAT(ItemRow(entry), ElementsAre("plan", "-", "5", "", "-", "[damaged]"));
  const auto object = ItemJson(entry);
  EXPECT_EQ(object["damaged"], true);
  EXPECT_EQ(object["size"], "5");
}

TEST(ItemRow, OfAGroupBeginsWithTheSession) {
  v1::ReadItemsResponse response = PieceOf("plan", "x", 0, 1);
  response.mutable_pieces(0)->set_session_id("4f1c2d3e");
  response.mutable_pieces(0)->set_session_uid("0193a0de-0000-7000-8000-000000000001");
  ItemEntryPage page;
  ASSERT_TRUE(page.Add(response));
  const ItemEntry& entry = page.items.front();
  EXPECT_THAT(ItemRow(entry), ElementsAre("4f1c2d3e", "plan", "-", "1", "", "-", "x"));
  EXPECT_EQ(GroupItemHeading().size(), ItemRow(entry).size());
  EXPECT_EQ(GroupItemHeading().front(), "SESSION");
  const auto object = ItemJson(entry);
  EXPECT_EQ(object.begin().key(), "session_id");
  EXPECT_EQ(object["session_id"], "4f1c2d3e");
  EXPECT_EQ(object["session_uid"], "0193a0de-0000-7000-8000-000000000001");
  EXPECT_FALSE(ItemJson(Entry("plan", "x")).contains("session_id"));
}

// A document lists the sessions that were skipped, and a table is followed by notes.
TEST(ItemListWriter, NamesSessionsThatWereSkipped) {
  ItemEntryPage first;
  first.end.add_unreadable_sessions("a");
  first.end.set_next_page_token("t");
  ItemEntryPage second;
  second.end.add_unreadable_sessions("b");
  for (const Output output : {Output::kTable, Output::kJson, Output::kJsonLines}) {
    std::ostringstream out;
    std::ostringstream err;
    Invocation invocation{.out = out, .err = err};
    invocation.output = output;
    ItemListWriter writer(invocation, GroupItemHeading());
    EXPECT_TRUE(writer.Write(first) && writer.Write(second));
    writer.End();
    if (output == Output::kJson) {
      EXPECT_EQ(nlohmann::json::parse(out.str())["unreadable_sessions"],
                nlohmann::json::array({"a", "b"}));
      EXPECT_EQ(err.str(), "");
    } else {
      EXPECT_EQ(err.str(),
                "session a was skipped: it cannot be read\n"
                "session b was skipped: it cannot be read\n");
    }
  }
}

}  // namespace
}  // namespace holdfast::cli
