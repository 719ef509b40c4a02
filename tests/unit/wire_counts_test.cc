// Counting on the wire: every repeated field of every request has a bound, and the walk finds it.
#include "server/rpc/call/wire_counts.h"

#include "holdfast/v1/admin_service.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/call/receive.h"
#include "server/rpc/call/wire.h"
#include "session/refusal.h"
#include "session/validate.h"
#include "tests/support/method_rules.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

namespace pb = ::holdfast::v1;

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The wire format, by hand.
std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value /= 128) out += static_cast<char>(value % 128 + 128);
  return out + static_cast<char>(value);
}
std::string Tag(int number, int type) {
  return Varint(static_cast<uint64_t>(number) * 8 + static_cast<uint64_t>(type));
}
std::string Delimited(int number, const std::string& bytes) {
  return Tag(number, 2) + Varint(bytes.size()) + bytes;
}

// A repeated field at a path of a request.
struct Found {
  const Descriptor* request;
  std::vector<const FieldDescriptor*> path;

  [[nodiscard]] const FieldDescriptor& field() const { return *path.back(); }
  // So many elements without a byte of their own.
  [[nodiscard]] std::string Bytes(size_t count) const {
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
      bytes += field().is_packable() ? Tag(field().number(), 0) + Varint(1)
                                     : Delimited(field().number(), "");
    }
    return Around(bytes);
  }
  // Within the messages of the path.
  [[nodiscard]] std::string Around(std::string bytes) const {
    for (size_t at = path.size() - 1; at > 0; --at)
      bytes = Delimited(path[at - 1]->number(), bytes);
    return bytes;
  }
};

void AddRepeated(const Descriptor& request, const Descriptor& message,
                 std::vector<const FieldDescriptor*>& path, std::vector<Found>& all) {
  ASSERT_LT(path.size(), kWireDepth) << request.full_name() << " is too deep, or contains itself";
  for (int i = 0; i < message.field_count(); ++i) {
    path.push_back(message.field(i));
    if (message.field(i)->is_repeated()) all.push_back({&request, path});
    if (message.field(i)->message_type() != nullptr) {
      AddRepeated(request, *message.field(i)->message_type(), path, all);
    }
    path.pop_back();
  }
}

// Of every request of every method.
std::vector<Found> AllRepeated() {
  std::vector<Found> all;
  for (const auto* method : ApiMethods()) {
    const Descriptor& request = *method->input_type();
    std::vector<const FieldDescriptor*> path;
    AddRepeated(request, request, path, all);
  }
  return all;
}

TEST(RepeatedLimits, AreOneForEachRepeatedFieldOfEachRequest) {
  std::set<std::pair<std::string_view, std::string_view>> used;
  for (const Found& found : AllRepeated()) {
    const RepeatedLimit* row = FindRepeatedLimit(found.field());
    EXPECT_NE(row, nullptr) << found.field().full_name() << " of " << found.request->full_name();
    if (row != nullptr) used.emplace(row->message, row->field);
  }
  EXPECT_EQ(used.size(), kRepeatedLimits.size()) << "a row is of no request, or exists twice";
  EXPECT_GT(used.size(), 20U);
}

// A command that did not come over the wire is checked against the same bounds, by the same names.
void ExpectRow(const absl::Status& status, std::string_view message, std::string_view field) {
  const auto facts = RefusalOf(status).facts();
  const auto* row = std::ranges::find_if(kRepeatedLimits, [&](const RepeatedLimit& one) {
    return one.message == message && one.field == field;
  });
  ASSERT_NE(row, kRepeatedLimits.end());
  EXPECT_TRUE(Is(status, Reason::kTooLarge)) << message << " " << field << ": " << status;
  EXPECT_EQ(facts.at("field"), field);
  EXPECT_EQ(facts.at("limit"), std::to_string(row->most));
}

TEST(RepeatedLimits, AreThoseOfTheCommands) {
  constexpr size_t kMore = 1;
  CommitTurnCommand commit{.turn = TurnNumber(1), .outcome = TurnOutcome::kOk};
  commit.messages.resize(kMessagesPerChange + kMore);
  ExpectRow(Validate(commit), "holdfast.v1.CommitTurnRequest", "messages");
  commit.messages.clear();
  commit.slots.resize(kSlotsPerChange + kMore);
  ExpectRow(Validate(commit), "holdfast.v1.CommitTurnRequest", "slots");
  commit.slots.clear();
  commit.deleted_slots.resize(kSlotsPerChange + kMore);
  ExpectRow(Validate(commit), "holdfast.v1.CommitTurnRequest", "deleted_slots");
  AppendJournalCommand append;
  append.entries.resize(kEntriesPerChange + kMore);
  ExpectRow(Validate(append), "holdfast.v1.AppendJournalRequest", "entries");
  UpdateCommand update;
  for (size_t i = 0; i < kAttributesPerSession + kMore; ++i) {
    update.attributes[std::to_string(i)] = "value";
  }
  ExpectRow(Validate(update), "holdfast.v1.Session", "attributes");
  update.expected = {};
  for (const auto& [name, value] : update.attributes) update.expected[name] = *value;
  update.attributes = {{"title", "x"}};
  ExpectRow(Validate(update), "holdfast.v1.UpdateSessionRequest", "expected_attributes");
  AppendAuditCommand audit{.audit_class = "Class", .code = "code", .correlation_id = "id"};
  for (size_t i = 0; i < kAuditFacts + kMore; ++i) audit.data[std::to_string(i)] = "value";
  ExpectRow(Validate(audit), "holdfast.v1.AppendAuditRequest", "data");
  ExpectRow(ValidateExpected(std::vector<ExpectedSlot>(kSlotsPerChange + kMore)),
            "holdfast.v1.ListSlotsRequest", "expected_slots");
}

TEST(WireCounts, RefuseOneMoreThanTheLimitOfEachField) {
  for (const Found& found : AllRepeated()) {
    SCOPED_TRACE(found.request->full_name() + " " + found.field().full_name());
    const RepeatedLimit& row = *FindRepeatedLimit(found.field());
    const WireCounts counts(*found.request);
    EXPECT_TRUE(counts.Check(found.Bytes(row.most)).ok());
    const absl::Status over = counts.Check(found.Bytes(row.most + 7));
    ASSERT_TRUE(Is(over, Reason::kTooLarge)) << over;
    const auto facts = RefusalOf(over).facts();
    EXPECT_EQ(facts.at("field"), row.named.empty() ? row.field : row.named);
    EXPECT_EQ(facts.at("limit"), std::to_string(row.most));
    EXPECT_EQ(facts.at("got"), std::to_string(row.most + 7));
    // A message in the path that comes twice is one message to the library, unless it is one of
    // several.
    const std::string half = found.Bytes(row.most / 2 + 1);
    const auto several = [](const auto* field) { return field->is_repeated(); };
    if (found.path.size() > 1 &&
        std::none_of(found.path.begin(), std::prev(found.path.end()), several)) {
      EXPECT_TRUE(Is(counts.Check(half + half), Reason::kTooLarge));
    }
  }
}

const WireCounts& OfListing() {
  static const WireCounts kCounts(*pb::ListSessionsRequest::descriptor());
  return kCounts;
}

TEST(WireCounts, CountPackedElements) {
  constexpr int kLifecycles = 4;
  std::string packed(kValuesPerFilter, '\x01');
  EXPECT_TRUE(OfListing().Check(Delimited(kLifecycles, packed)).ok());
  EXPECT_TRUE(Is(OfListing().Check(Delimited(kLifecycles, packed + "\x01")), Reason::kTooLarge));
  EXPECT_TRUE(
      Is(OfListing().Check(Delimited(kLifecycles, packed) + Tag(kLifecycles, 0) + Varint(300)),
         Reason::kTooLarge));
  // Elements of two bytes each.
  std::string longer;
  for (size_t i = 0; i < kValuesPerFilter; ++i) longer += Varint(300);
  EXPECT_TRUE(OfListing().Check(Delimited(kLifecycles, longer)).ok());
}

TEST(WireCounts, PassByWhatTheyDoNotKnow) {
  const std::string group = Tag(500, 3) + Tag(501, 3) + Tag(1, 0) + Varint(uint64_t{1} << 63) +
                            Delimited(9, "text") + Tag(501, 4) + Tag(2, 1) + std::string(8, 'x') +
                            Tag(500, 4);
  const std::string unknown = group + Tag(77, 5) + std::string(4, 'x') + Delimited(78, "text");
  EXPECT_TRUE(OfListing().Check(unknown).ok());
  // A known number with another type is unknown too.
  std::string other;
  for (size_t i = 0; i <= kValuesPerFilter; ++i) other += Tag(4, 5) + std::string(4, 'x');
  EXPECT_TRUE(OfListing().Check(other + unknown).ok());
  EXPECT_TRUE(OfListing().Check("").ok());
}

TEST(WireCounts, RejectWhatIsNoMessage) {
  const std::string deep = [] {
    std::string text;
    for (int i = 0; i < 200; ++i) text += Tag(500, 3);
    for (int i = 0; i < 200; ++i) text += Tag(500, 4);
    return text;
  }();
  for (const std::string& bytes :
       {Tag(4, 7) + "x", std::string(1, '\0'), Tag(500, 4), Tag(500, 3), Tag(500, 3) + Tag(501, 4),
        Tag(2, 2) + Varint(5) + "four", Tag(2, 2) + Varint(uint64_t{1} << 40), Tag(1, 0),
        Tag(1, 0) + std::string(11, '\xff'), std::string(6, '\xff'), Tag(77, 1) + "seven77",
        deep}) {
    const absl::Status status = OfListing().Check(bytes);
    EXPECT_TRUE(Is(status, Reason::kInvalidField)) << status;
  }
}

// The wire's integers are signed, and none of ours is negative.
TEST(WireCounts, RejectNegativeNumbersByTheirPath) {
  const auto field_of = [](const auto& request) {
    const WireCounts counts(*request.GetDescriptor());
    const absl::Status status = counts.Check(request.SerializeAsString());
    return status.ok() ? "" : RefusalOf(status).facts().at("field");
  };
  pb::ListMessagesRequest list;
  list.set_page_size(INT32_MAX);
  list.set_revision(INT64_MAX);
  EXPECT_EQ(field_of(list), "");
  list.set_page_size(-1);
  EXPECT_EQ(field_of(list), "page_size");
  list.set_page_size(INT32_MIN);
  list.set_revision(-1);
  EXPECT_EQ(field_of(list), "revision");  // the first on the wire
  pb::AppendJournalRequest append;
  append.add_entries()->set_number(1);
  append.add_entries()->set_turn(INT64_MIN);
  EXPECT_EQ(field_of(append), "entries.turn");
  pb::ResumeSessionRequest resume;
  resume.mutable_create_if_missing()->add_messages()->set_seq(-2);
  EXPECT_EQ(field_of(resume), "create_if_missing.messages.seq");
  // Of a duration the parts may be negative; the field says what it takes.
  resume.Clear();
  resume.mutable_lease_ttl()->set_seconds(-1);
  EXPECT_EQ(field_of(resume), "");
}

// A library cuts a number of 32 bits down to them.
TEST(WireCounts, TakeANumberAsTheLibraryDoes) {
  constexpr int kPageSize = 1;
  for (const uint64_t sent : {uint64_t{1} << 31, uint64_t{0xffffffff}, ~uint64_t{0},
                              (uint64_t{1} << 32) + 5, (uint64_t{1} << 63) + 5}) {
    const std::string bytes = Tag(kPageSize, 0) + Varint(sent);
    pb::ListSessionsRequest parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    EXPECT_EQ(OfListing().Check(bytes).ok(), parsed.page_size() >= 0) << sent;
  }
}

TEST(WireCounts, AreTakenBeforeMemoryIsAndBeforeAnythingIsParsed) {
  std::string bytes;
  while (bytes.size() + 2 <= kUnaryRequestBytes) bytes += Delimited(7, "");
  const grpc::Slice slice(bytes);
  const WireTotals before = WireTotalsNow();
  Received<pb::CommitTurnRequest> request;
  Admission admission(kMiB);
  absl::StatusOr<Admission::Ticket> ticket = admission.AdmitBytes(0);
  ASSERT_TRUE(ticket.ok());
  const absl::Status status = Receive(Bytes(&slice, 1), 400 * kMiB, *ticket, request);
  EXPECT_TRUE(Is(status, Reason::kTooLarge)) << status;
  // Far over the limit the walk ends.
  EXPECT_EQ(RefusalOf(status).facts().at("got"), std::to_string(4 * kSlotsPerChange));
  EXPECT_EQ(WireTotalsNow().refused, before.refused + 1);
  EXPECT_EQ(WireTotalsNow().parsed, before.parsed);
}

// Of a field that is a little over its limit all elements are counted, unless another is far over.
TEST(WireCounts, EndWhereAnyFieldIsFarOverItsLimit) {
  const WireCounts counts(*pb::CommitTurnRequest::descriptor());
  const auto times = [](size_t count, const std::string& element) {
    std::string bytes;
    for (size_t i = 0; i < count; ++i) bytes += element;
    return bytes;
  };
  constexpr int kMessages = 6;
  constexpr int kSlots = 7;
  const std::string message = Delimited(kMessages, "");
  const std::string slot = Delimited(kSlots, "");
  const std::string over = times(kMessagesPerChange + 1, message);
  const auto got = [&](const std::string& bytes) {
    const absl::Status status = counts.Check(bytes);
    EXPECT_TRUE(Is(status, Reason::kTooLarge)) << status;
    EXPECT_EQ(RefusalOf(status).facts().at("field"), "messages");
    return RefusalOf(status).facts().at("got");
  };
  EXPECT_EQ(got(over + times(kSlotsPerChange + 1, slot) + times(3, message)),
            std::to_string(kMessagesPerChange + 4));
  EXPECT_EQ(got(over + times(4 * kSlotsPerChange, slot) + times(3, message)),
            std::to_string(kMessagesPerChange + 1));
}

// The transport cuts a request anywhere.
TEST(WireCounts, ReadOverTheBordersOfSlices) {
  pb::CreateSessionRequest request;
  for (size_t i = 0; i <= kSlotsPerChange; ++i) request.add_slots()->set_owner("owner");
  (*request.mutable_attributes())["key"] = "value";
  const std::string bytes = request.SerializeAsString();
  const WireCounts counts(*pb::CreateSessionRequest::descriptor());
  for (const size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{1000}}) {
    std::vector<grpc::Slice> slices = {grpc::Slice()};
    for (size_t at = 0; at < bytes.size(); at += step) slices.emplace_back(bytes.substr(at, step));
    slices.emplace_back();
    const absl::Status status = counts.Check(slices);
    EXPECT_TRUE(Is(status, Reason::kTooLarge)) << step << " " << status;
  }
}

}  // namespace
}  // namespace holdfast::test
