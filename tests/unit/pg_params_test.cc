#include "store-postgres/pg/dsn.h"
#include "store-postgres/pg/failure.h"
#include "store-postgres/pg/params.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include <limits>

namespace holdfast::pg {
namespace {

std::string Hex(const Params& params, size_t index = 0) {
  return absl::BytesToHexString(std::string(params.Value(index)));
}

TEST(PgParams, ScalarsAreBigEndian) {
  EXPECT_EQ(Hex(Params().Int(0x0102030405060708)), "0102030405060708");
  EXPECT_EQ(Hex(Params().Int(-1)), "ffffffffffffffff");
  EXPECT_EQ(Hex(Params().Int(std::numeric_limits<int64_t>::min())), "8000000000000000");
  EXPECT_EQ(Hex(Params().Int4(-2)), "fffffffe");
  EXPECT_EQ(Hex(Params().Bool(true)), "01");
  EXPECT_EQ(Hex(Params().Bool(false)), "00");
}

TEST(PgParams, TextsAndBytesGoAsTheyAre) {
  EXPECT_EQ(Params().Text("Zürich").Value(0), "Zürich");
  const std::string bytes("\0\xff'\\", 4);
  EXPECT_EQ(Params().Bytes(bytes).Value(0), bytes);
  EXPECT_EQ(Params().Bytes("").Value(0), "");
  EXPECT_FALSE(Params().Bytes("").IsNull(0));
}

TEST(PgParams, TimeCountsMicrosecondsFromTheYear2000) {
  const absl::Time epoch = absl::FromUnixSeconds(946684800);
  EXPECT_EQ(Hex(Params().Time(epoch)), "0000000000000000");
  EXPECT_EQ(Hex(Params().Time(epoch + absl::Microseconds(3))), "0000000000000003");
  EXPECT_EQ(Hex(Params().Time(epoch - absl::Microseconds(1))), "ffffffffffffffff");
  EXPECT_EQ(Hex(Params().Time(absl::InfiniteFuture())), "7fffffffffffffff");
  EXPECT_EQ(Hex(Params().Time(absl::InfinitePast())), "8000000000000000");
}

TEST(PgParams, IntervalsAreMicroseconds) {
  EXPECT_EQ(Hex(Params().Interval(absl::Milliseconds(1))), "00000000000003e80000000000000000");
  EXPECT_EQ(Hex(Params().Interval(-absl::Microseconds(1))), "ffffffffffffffff0000000000000000");
}

TEST(PgParams, ArraysCarryTheirShape) {
  // Dimensions, whether there are nulls, type of the elements; length and first index.
  EXPECT_EQ(Hex(Params().Ints({7, -1})),
            "00000001"
            "00000000"
            "00000014"
            "00000002"
            "00000001"
            "00000008"
            "0000000000000007"
            "00000008"
            "ffffffffffffffff");
  EXPECT_EQ(Hex(Params().Int4s({5})),
            "00000001"
            "00000000"
            "00000017"
            "00000001"
            "00000001"
            "00000004"
            "00000005");
  EXPECT_EQ(Hex(Params().Bools({true, false})),
            "00000001"
            "00000000"
            "00000010"
            "00000002"
            "00000001"
            "00000001"
            "01"
            "00000001"
            "00");
  EXPECT_EQ(Hex(Params().Texts({})),
            "00000000"
            "00000000"
            "00000019");
}

TEST(PgParams, ElementsOfArraysMayBeNull) {
  EXPECT_EQ(Hex(Params().NullableBytesArray({"a", std::nullopt})),
            "00000001"
            "00000001"
            "00000011"
            "00000002"
            "00000001"
            "00000001"
            "61"
            "ffffffff");
  const std::vector<std::string_view> pieces = {"a", "", "bc"};
  EXPECT_EQ(Hex(Params().PiecesArray({pieces, {}})),
            Hex(Params().NullableBytesArray({"abc", std::nullopt})));
  EXPECT_EQ(Hex(Params().PiecesArray({pieces})), Hex(Params().BytesArray({"abc"})));
  // Nothing is null here, so nothing says that something may be.
  EXPECT_EQ(Hex(Params().NullableTexts({"a"})).substr(8, 8), "00000000");
}

TEST(PgParams, EachKeepsItsPlaceAndType) {
  Params params;
  params.Text("one").Null().Int(2).Bytes("three");
  ASSERT_EQ(params.size(), 4U);
  EXPECT_EQ(params.Value(0), "one");
  EXPECT_TRUE(params.IsNull(1));
  EXPECT_EQ(Hex(params, 2), "0000000000000002");
  EXPECT_EQ(params.Value(3), "three");
  EXPECT_EQ(params.Type(0), 25U);
  EXPECT_EQ(params.Type(1), 0U);
  EXPECT_EQ(params.Type(2), 20U);
  EXPECT_EQ(params.Type(3), 17U);
}

TEST(PgDsn, HostsAreCountedAndAskedInTurn) {
  EXPECT_EQ(HostsIn("dbname=x"), 1U);
  EXPECT_EQ(HostsIn("host=a,b,c dbname=x"), 3U);
  EXPECT_EQ(HostsIn("postgresql://a:1,b:2/x"), 2U);
  EXPECT_EQ(HostsIn("no dsn"), 1U);
  EXPECT_EQ(Rotated("a,b,c", 0), "a,b,c");
  EXPECT_EQ(Rotated("a,b,c", 1), "b,c,a");
  EXPECT_EQ(Rotated("a,b,c", 5), "c,a,b");
  EXPECT_EQ(Rotated("a", 1), "a");
  EXPECT_EQ(Rotated("", 1), "");
}

TEST(PgFailure, BecomesARefusalWithoutTheDriversWords) {
  const auto said = [](const Failure& failure) { return RefusalFor(failure); };
  const Refusal unknown = said({.effect = Effect::kUnknown, .sqlstate = "57P01", .text = "secret"});
  EXPECT_EQ(unknown.reason(), Reason::kStoreUnavailable);
  EXPECT_EQ(unknown.facts().at("outcome"), "unknown");
  const Refusal known = said({.effect = Effect::kNone, .sqlstate = "57014", .text = "secret"});
  EXPECT_EQ(known.reason(), Reason::kStoreUnavailable);
  EXPECT_EQ(known.facts().at("outcome"), "known");
  EXPECT_EQ(said({.effect = Effect::kNone, .sqlstate = "53100"}).reason(), Reason::kStorageFull);
  // A full disk of which it is not known whether it stopped the statement.
  EXPECT_EQ(said({.effect = Effect::kUnknown, .sqlstate = "53100"}).reason(),
            Reason::kStoreUnavailable);
  for (const Refusal& refusal : {unknown, known}) {
    EXPECT_EQ(refusal.message().find("secret"), std::string::npos);
    EXPECT_TRUE(refusal.retry_after().has_value());
  }
}

TEST(PgParams, NamesTheArgumentsOfAFunction) {
  Params params;
  params.Named("p_tenants").Texts({"a"}).Named("p_upload", "text::uuid").Null();
  params.Named("p_waits").Bool(true);
  EXPECT_EQ(params.NamedArguments(), "p_tenants => $1, p_upload => $2::text::uuid, p_waits => $3");
}

}  // namespace
}  // namespace holdfast::pg
