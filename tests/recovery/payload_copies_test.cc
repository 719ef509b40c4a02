// How often a server copies the bytes of a commit between its socket and its store, counted and
// never timed.
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/wire_client.h"
#include "tests/support/wrong_clock.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr int kCommits = 64;
constexpr size_t kPayloadBytes = 8 * 1024;
// What is copied together with them: heads, what the change says, and what libpq moves within its
// buffer when it has sent the first part of a statement.
constexpr double kBeside = 0.3;

// Into the parsed request. Over files into the session's frame; over PostgreSQL into the
// statement's parameters and the buffer of libpq.
constexpr int Copies(StoreKind store) { return store == StoreKind::kFiles ? 2 : 3; }

class PayloadCopies : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    std::ofstream(count_) << std::string(sizeof(uint64_t), '\0');
    const ScopedEnvironment preloaded({{"LD_PRELOAD", Program("../tests/libcopied_bytes.so")},
                                       {"HOLDFAST_COPIED_BYTES", count_},
                                       {"ASAN_OPTIONS", "verify_asan_link_order=0"}});
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_.emplace(server_.address());
    token_ = client_->Must(&Stub::CreateSession, test::CreateRequest("agent")).lease_token();
  }

  // In copies of a kibibyte and more, so far.
  uint64_t CopiedBytes() const {
    uint64_t bytes = 0;
    const std::string text = ReadText(count_);
    std::memcpy(&bytes, text.data(), std::min(text.size(), sizeof(bytes)));
    return bytes;
  }

  void Commit(size_t bytes) {
    const auto begun = client_->Must(&Stub::BeginTurn, test::BeginRequest("agent", token_));
    client_->Must(&Stub::CommitTurn,
                  test::CommitRequest("agent", token_, begun.turn(), std::string(bytes, 'm')));
  }
  // By `kCommits` turns that commit so many bytes each.
  uint64_t CopiedByCommits(size_t bytes) {
    const uint64_t before = CopiedBytes();
    for (int i = 0; i < kCommits; ++i) Commit(bytes);
    return CopiedBytes() - before;
  }

 private:
  const TestFolder folder_;
  const std::string count_ = folder_.File("copied");
  const StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
  std::optional<WireClient> client_;
  std::string token_;
};

TEST_P(PayloadCopies, OfACommitAreFew) {
  CopiedByCommits(kPayloadBytes);  // whatever grows has grown
  const double copied =
      static_cast<double>(CopiedByCommits(kPayloadBytes)) - static_cast<double>(CopiedByCommits(1));
  const double copies = copied / (kCommits * kPayloadBytes);
  std::cout << "figure: " << copies << " copies of each byte of a commit\n";
  EXPECT_GE(copies, 1) << "they are not counted";
  EXPECT_LE(copies, Copies(GetParam()) + kBeside);
}

INSTANTIATE_TEST_SUITE_P(Stores, PayloadCopies, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing
