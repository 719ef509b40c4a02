#include "platform/encoding.h"

#include "absl/time/time.h"
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace holdfast {
namespace {

constexpr uint64_t kNumbers[] = {0, 1, 127, 128, 16383, 16384, uint64_t{1} << 63, UINT64_MAX};

TEST(Encoding, WhatIsWrittenIsRead) {
  const std::string text("a\0b", 3);
  const absl::Time time = absl::FromUnixMicros(1'700'000'000'123'456);
  Encoder out;
  for (const uint64_t number : kNumbers) out.Number(number);
  out.Text(text).Text("").Raw("raw").Time(time);
  Decoder in(out.bytes());
  for (const uint64_t number : kNumbers) EXPECT_EQ(in.Number(), number);
  EXPECT_EQ(in.Text(), text);
  EXPECT_EQ(in.Text(), "");
  EXPECT_EQ(in.Raw(3), "raw");
  EXPECT_FALSE(in.Done());
  EXPECT_EQ(in.Time(), time);
  EXPECT_TRUE(in.Done());
  EXPECT_EQ(in.position(), out.size());
}

TEST(Encoding, TimesBeforeTheEpochOfUnixComeBack) {
  Encoder out;
  out.Time(absl::FromUnixMicros(-5));
  Decoder in(out.bytes());
  EXPECT_EQ(in.Time(), absl::FromUnixMicros(-5));
  EXPECT_TRUE(in.Done());
}

TEST(Encoding, EveryCutIsSeen) {
  Encoder out;
  out.Number(300).Text("some text").Raw("ab");
  const std::string bytes = out.Take();
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    Decoder in(std::string_view(bytes).substr(0, cut));
    in.Number();
    in.Text();
    in.Raw(2);
    EXPECT_FALSE(in.ok()) << cut;
    EXPECT_FALSE(in.Done()) << cut;
  }
}

TEST(Encoding, AfterAFailureEverythingIsEmpty) {
  Decoder in(
      "\x05"
      "ab");
  EXPECT_EQ(in.Text(), "");
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.Number(), 0U);
  EXPECT_EQ(in.Raw(1), "");
}

TEST(Encoding, OverlongAndOverflowingNumbersFail) {
  Decoder eleven(std::string_view("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11));
  eleven.Number();
  EXPECT_FALSE(eleven.ok());
  Decoder large("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  large.Number();
  EXPECT_FALSE(large.ok());
}

TEST(Encoding, ACountIsNeverMoreThanWhatIsLeft) {
  Encoder out;
  out.Number(3).Raw("abc");
  Decoder in(out.bytes());
  EXPECT_EQ(in.Count(), 3U);
  EXPECT_TRUE(in.ok());
  Encoder lies;
  lies.Number(4).Raw("abc");
  Decoder liar(lies.bytes());
  EXPECT_EQ(liar.Count(), 0U);
  EXPECT_FALSE(liar.ok());
}

TEST(Encoding, LeftOversAreSeen) {
  Decoder in("\x01\x02");
  EXPECT_EQ(in.Number(), 1U);
  EXPECT_TRUE(in.ok());
  EXPECT_FALSE(in.Done());
  in.Fail();
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace holdfast
