#include "cli/json_spans.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;

TEST(JsonSpans, KeepsTextOfMemberUnchanged) {
  const auto members = MembersOf("{ \"a\" : [1,  2.50] ,\"b\":{\"c\": \"\\u0041\\/\"}\t}\r");
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 2);
  EXPECT_EQ((*members)[0].key, "a");
  EXPECT_EQ((*members)[0].value, "[1,  2.50]");
  EXPECT_EQ((*members)[1].value, R"({"c": "\u0041\/"})");
}

TEST(JsonSpans, BracketsInsideStringsCountForNothing) {
  const auto elements = ElementsOf(R"([ "],[" , {"}":"\"]"}, "\\" ])");
  ASSERT_TRUE(elements);
  EXPECT_THAT(*elements, ElementsAre(R"("],[")", R"({"}":"\"]"})", R"("\\")"));
}

TEST(JsonSpans, EmptyIsNotMalformed) {
  EXPECT_TRUE(MembersOf(" {} ")->empty());
  EXPECT_TRUE(ElementsOf("[ \n]")->empty());
}

TEST(JsonSpans, EveryKindOfValueIsAnElement) {
  const auto elements = ElementsOf(R"([null,true,false,-0,1.5e-3,"",[],{}])");
  ASSERT_TRUE(elements);
  EXPECT_EQ(elements->size(), 8);
}

TEST(JsonSpans, WhatIsNoJsonIsRefused) {
  for (const char* text : {"",
                           "[",
                           "]",
                           "[1",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[01]",
                           "[1.]",
                           "[.5]",
                           "[1e]",
                           "[+1]",
                           "[tru]",
                           "[\"a]",
                           "[\"\\x\"]",
                           "[\"\\u12g4\"]",
                           "[\"\\u12\"]",
                           "[\"a\nb\"]",
                           "[1]x",
                           "[{1:2}]",
                           "[{\"a\"}]",
                           "[{\"a\":}]",
                           "[{\"a\":1,}]",
                           "['a']",
                           "{}"}) {
    EXPECT_FALSE(ElementsOf(text)) << text;
  }
  EXPECT_FALSE(MembersOf("[]"));
  EXPECT_FALSE(MembersOf("{} {}"));
}

TEST(JsonSpans, NestingHasAnEnd) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ElementsOf(nested(200)));
  EXPECT_FALSE(ElementsOf(nested(100'000)));
}

TEST(JsonSpans, BytesThatAreNoUtf8AreKept) {
  const auto elements = ElementsOf("[\"\xFF\xC3\"]");
  ASSERT_TRUE(elements);
  EXPECT_THAT(*elements, ElementsAre("\"\xFF\xC3\""));
}

TEST(JsonSpans, StringsAreDecoded) {
  EXPECT_EQ(StringOf(R"("a\"\\\/\b\f\n\r\t")"), "a\"\\/\b\f\n\r\t");
  EXPECT_EQ(StringOf(R"("\u00e9\u20ac")"), "é€");
  EXPECT_EQ(StringOf(R"("\ud83d\ude34")"), "😴");
}

TEST(JsonSpans, HalfASurrogatePairIsReplacedAndNothingBehindItIsLost) {
  EXPECT_EQ(StringOf(R"("\ud83dx")"), "\xEF\xBF\xBDx");
  EXPECT_EQ(StringOf(R"("\ud83d\u0041")"),
            "\xEF\xBF\xBD"
            "A");
  EXPECT_EQ(StringOf(R"("\ude34")"), "\xEF\xBF\xBD");
}

TEST(JsonSpans, WhatIsNoStringIsNotDecoded) {
  for (const char* text : {"", "1", "null", "\"a", "\"a\" 1", "[\"a\"]"}) {
    EXPECT_FALSE(StringOf(text)) << text;
  }
}

TEST(JsonSpans, KeysAreComparedByWhatTheyMeanAndTheLastOneCounts) {
  const auto members = MembersOf(R"({"id": 1, "\u0069d": 2})");
  ASSERT_TRUE(members);
  EXPECT_EQ(ValueOf(*members, "id"), "2");
  EXPECT_FALSE(ValueOf(*members, "messages"));
}

}  // namespace
}  // namespace holdfast::cli
