// What a process says before it aborts: a line of the log like any other.
#include "platform/clock.h"
#include "server/foreign_log.h"
#include "server/log.h"
#include "server/log_writer.h"

#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace holdfast::test {
namespace {

// Runs `last` with a log as the server has one, which reaches standard error.
void RunLogged(const std::function<void(Log&)>& last) {
  LogWriter writer(StandardError(), SystemClock());
  const FlushOnAbort flush(writer);
  Log log(writer.sink(), SystemClock());
  const ForeignLog foreign(log);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // as grpc_init does
  last(log);
}

TEST(LastLines, OfAFailedAssertionOfGrpcAreWritten) {
  EXPECT_DEATH(RunLogged([](Log&) { GPR_ASSERT(1 + 1 == 3); }),
               R"re(\{"time":.*"level":"error",.*assertion failed: 1 \+ 1 == 3.*"grpc"\})re");
}

TEST(LastLines, OnCsStreamAreWritten) {
  EXPECT_DEATH(RunLogged([](Log&) {
                 (void)std::fprintf(stderr, "all is lost\n");
                 std::abort();
               }),
               R"re(\{"time":.*all is lost.*"source":"stderr"\})re");
}

// Warnings of a library are bounded, and an error among them is not lost.
TEST(LastLines, OfAFailedAssertionBehindManyWarningsAreWritten) {
  EXPECT_DEATH(RunLogged([](Log&) {
                 for (int i = 0; i < 100; ++i) gpr_log(GPR_ERROR, "warning %d", i);
                 GPR_ASSERT(1 + 1 == 3);
               }),
               "assertion failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace holdfast::test
