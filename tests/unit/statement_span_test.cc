// The span of a statement, and of one that wrote a group.
#include "server/telemetry/statement_span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace holdfast::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const RecordedSpan kFirst{.trace_id = "0af7651916cd43dd8448eb211c80319c",
                          .span_id = "b7ad6b7169203331",
                          .trace_state = "vendor=x"};
const RecordedSpan kSecond{.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
                           .span_id = "00f067aa0ba902b7",
                           .trace_state = {}};

// The attribute as a text; empty when the span has none of that name.
std::string Attribute(const Span& span, std::string_view key) {
  for (const SpanAttribute& attribute : span.attributes) {
    if (attribute.key != key) continue;
    if (const auto* text = std::get_if<std::string>(&attribute.value)) return *text;
    return std::to_string(std::get<int64_t>(attribute.value));
  }
  return "";
}

TEST(StatementSpan, IsBelowTheOperationThatItIsFor) {
  const Span span = StatementSpan({.name = "change"}, {kFirst});
  EXPECT_EQ(span.name, "change");
  EXPECT_EQ(span.kind, SpanKind::kClient);
  EXPECT_EQ(span.trace_id, kFirst.trace_id);
  EXPECT_EQ(span.parent_span_id, kFirst.span_id);
  EXPECT_EQ(span.trace_state, "vendor=x");
  EXPECT_EQ(Attribute(span, "db.system.name"), "postgresql");
  EXPECT_EQ(Attribute(span, "db.query.summary"), "change");
  EXPECT_EQ(Attribute(span, "db.operation.batch.size"), "");
  EXPECT_THAT(span.links, IsEmpty());
  EXPECT_FALSE(span.status.failed);
}

TEST(StatementSpan, OfAGroupLinksToTheOtherMembers) {
  const Span span = StatementSpan({.name = "change_many"}, {kFirst, kSecond});
  EXPECT_EQ(span.parent_span_id, kFirst.span_id);
  EXPECT_EQ(Attribute(span, "db.operation.batch.size"), "2");
  ASSERT_THAT(span.links, SizeIs(1));
  EXPECT_EQ(span.links[0].trace_id, kSecond.trace_id);
  EXPECT_EQ(span.links[0].span_id, kSecond.span_id);
  EXPECT_EQ(span.links[0].relation, "group_member");
}

TEST(StatementSpan, HasTheStateOfAFailure) {
  const Span refused = StatementSpan({.name = "change", .error = "40001"}, {kFirst});
  EXPECT_TRUE(refused.status.failed);
  EXPECT_EQ(Attribute(refused, "db.response.status_code"), "40001");
  EXPECT_EQ(Attribute(refused, "error.type"), "40001");
  const Span broken = StatementSpan({.name = "change", .error = "connection"}, {kFirst});
  EXPECT_TRUE(broken.status.failed);
  EXPECT_EQ(Attribute(broken, "db.response.status_code"), "");
  EXPECT_EQ(Attribute(broken, "error.type"), "connection");
}

}  // namespace
}  // namespace holdfast::test
