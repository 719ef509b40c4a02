// Secrets in requests: found in every field and every encoding, and reported by their place alone.
#include "session/secrets/secret_check.h"
#include "session/secrets/secret_reference.h"
#include "session/secrets/secret_scan.h"
#include "tests/unit/sessions_world.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr char kSecret[] = "open-sesame";

class Scanner final : public SecretScanner {
 public:
  [[nodiscard]] std::optional<size_t> Find(std::string_view bytes) const override {
    const size_t at = bytes.find(kSecret);
    return at == std::string_view::npos ? std::nullopt : std::optional(at);
  }
  [[nodiscard]] size_t LongestBytes() const override { return sizeof(kSecret) - 1; }
};

TEST(SecretStream, FindsASecretWhereverTheBordersFall) {
  const Scanner scanner;
  const std::string text = "before " + std::string(kSecret) + " after";
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      SecretStream stream(scanner);
      std::optional<uint64_t> found;
      for (const std::string& piece :
           {text.substr(0, first), text.substr(first, second - first), text.substr(second)}) {
        if (const auto at = stream.Feed(piece); at && !found) found = at;
      }
      EXPECT_EQ(found, 7) << first << " " << second;
    }
  }
}

TEST(SecretStream, FindsASecretThatComesByteByByteBehindMuchElse) {
  const Scanner scanner;
  SecretStream stream(scanner);
  EXPECT_EQ(stream.Feed(std::string(1'000'000, 'x')), std::nullopt);
  for (const char c : std::string(kSecret).substr(0, sizeof(kSecret) - 2)) {
    EXPECT_EQ(stream.Feed(std::string(1, c)), std::nullopt);
  }
  EXPECT_EQ(stream.Feed("e"), 1'000'000);
}

TEST(SecretStream, OfNoSecretsFindsNothing) {
  SecretStream stream(NoSecrets());
  EXPECT_EQ(stream.Feed(kSecret), std::nullopt);
}

// The same, cut into pieces of every size.
std::optional<uint64_t> FindInPieces(const std::string& text, size_t piece) {
  ReferenceStream stream;
  for (size_t at = 0; at < text.size(); at += piece) stream.Feed(text.substr(at, piece));
  return stream.End();
}

TEST(SecretReference, MalformedOnesAreFound) {
  const std::vector<std::pair<std::string, size_t>> kMalformed = {
      {R"({"kind":"env"})", 0},
      {R"({"kind":"env","name":""})", 0},
      {R"({"name":7,"kind":"file"})", 0},
      {R"({"name":null,"kind":"keyring"})", 0},
      {R"({"kind":"file","name":{"name":"x"}})", 0},
      {R"( [1, {"key": {"kind" : "env"}, "n": 1}] )", 13},
      {R"({"a\\":"\"{","b":{"kind":"env"}})", 17},
      {"env:", 0},
      {"keyring:", 0}};
  for (const auto& [text, offset] : kMalformed) {
    EXPECT_EQ(FindMalformedReference(text), offset) << text;
    for (size_t piece = 1; piece <= text.size(); ++piece) {
      EXPECT_EQ(FindInPieces(text, piece), offset) << text << " in pieces of " << piece;
    }
  }
}

TEST(SecretReference, WhatIsValidOrNoReferenceIsLeftAlone) {
  for (const std::string text :
       {R"({"kind":"env","name":"TOKEN"})", R"({"name":"a","kind":"file"})",
        R"({"kind":"file","path":"main.cc"})", R"({"kind":"text"})", R"({"kind":["env"]})",
        R"({"kind":"env")", R"({"kind":"env"}})", R"(["kind","env"])", R"("kind\":\"env")",
        R"({"kind":"env" and so on)", "env:TOKEN",
        "environment:", "keyring:x:", "a line about \"kind\"", ""}) {
    EXPECT_EQ(FindMalformedReference(text), std::nullopt) << text;
    for (size_t piece = 1; piece <= text.size(); ++piece) {
      EXPECT_EQ(FindInPieces(text, piece), std::nullopt) << text << " in pieces of " << piece;
    }
  }
}

TEST(SecretReference, StopsAtNestingLimit) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += '[';
  EXPECT_EQ(FindMalformedReference(text + R"({"kind":"env"})"), std::nullopt);
}

// The domain over a store that must stay as it is.
class SecretsOfCommands : public ::testing::Test {
 protected:
  SecretsOfCommands() : sessions_(world_.store(), world_.random(), scanner_) { world_.Create(); }

  // Expects that `result` is refused for `field`.
  template <typename Result>
  void ExpectLeak(const Result& result, const std::string& field, const std::string& offset) {
    const absl::Status status = result.status();
    EXPECT_EQ(ReasonIn(status), "SECRET_LEAK") << field << status;
    EXPECT_EQ(FactIn(status, "field"), field);
    EXPECT_EQ(FactIn(status, "offset"), offset) << field;
    EXPECT_EQ(status.ToString().find(kSecret), std::string::npos) << status;
  }

  Scanner scanner_;
  World world_;
  Sessions sessions_;
};

TEST_F(SecretsOfCommands, AreRefusedByPathAndOffset) {
  const Caller& caller = world_.caller();
  UpdateCommand update = world_.ToUpdate("x" + std::string(kSecret));
  ExpectLeak(sessions_.Update(caller, update), "attributes.title", "1");
  update.attributes = {{kSecret, "value"}};
  ExpectLeak(sessions_.Update(caller, update), "attributes", "0");
  ResumeCommand resume = world_.ToForce();
  resume.force_reason = kSecret;
  ExpectLeak(sessions_.Resume(caller, resume), "force.reason", "0");
  resume = world_.ToForce();
  resume.create_if_missing = world_.ToCreate();
  resume.create_if_missing->slots = {SlotOf("memory", kSecret)};
  ExpectLeak(sessions_.Resume(caller, resume), "create_if_missing.slots[0].data", "0");
  CloseCommand close = world_.ToClose();
  close.final_snapshot = SnapshotContent{.messages = {Said("a"), Said(kSecret)}};
  ExpectLeak(sessions_.Close(caller, close), "final_snapshot.messages[1].data", "0");
  EXPECT_EQ(world_.Stored().revision, Revision(1));
}

TEST_F(SecretsOfCommands, AllPlacesAreNamed) {
  CommitTurnCommand commit = world_.ToCommit(world_.Begin());
  commit.slots = {SlotOf("a", "clean"), SlotOf("b", "12" + std::string(kSecret))};
  commit.messages = {Said(kSecret)};
  const absl::Status status = sessions_.CommitTurn(world_.caller(), commit).status();
  EXPECT_EQ(FactIn(status, "paths"), "messages[0].data@0 slots[1].data@2");
  EXPECT_EQ(FactIn(status, "count"), "2");
}

TEST_F(SecretsOfCommands, AMalformedReferenceIsRefusedWhateverIsKnown) {
  CommitTurnCommand commit = world_.ToCommit(world_.Begin());
  commit.slots = {SlotOf("a", R"({"token": {"kind": "env"}})")};
  const absl::Status status = world_.sessions().CommitTurn(world_.caller(), commit).status();
  EXPECT_EQ(ReasonIn(status), "MALFORMED_SECRET_REFERENCE") << status;
  EXPECT_EQ(FactIn(status, "field"), "slots[0].data");
  EXPECT_EQ(FactIn(status, "offset"), "10");
  commit.slots = {SlotOf("a", R"({"token": {"kind": "env", "name": "TOKEN"}})")};
  EXPECT_EQ(ReasonIn(world_.sessions().CommitTurn(world_.caller(), commit)), "OK");
}

}  // namespace
}  // namespace holdfast::test
