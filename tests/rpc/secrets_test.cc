// From references in the configuration to what is found.
#include "server/secrets.h"

#include "server/config.h"
#include "session/limits.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr char kVariable[] = "HOLDFAST_TEST_SECRET";
const Environment kUserHome = {.home = "/user"};

std::optional<size_t> FindIn(const std::vector<Secret>& values,
                             const std::vector<std::string>& patterns, const std::string& text) {
  const auto scanner = MakeSecretScanner(values, patterns);
  EXPECT_TRUE(scanner.ok()) << scanner.status();
  return (*scanner)->Find(text);
}

std::string ProblemOf(const std::string& reference) {
  return std::string(ReadSecret(reference).status().message());
}

class SecretsOfConfig : public ::testing::Test {
 protected:
  ~SecretsOfConfig() override { unsetenv(kVariable); }

  std::string File(const std::string& name, const std::string& content) {
    const std::string path = dir_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  TempDir dir_;
};

TEST_F(SecretsOfConfig, ComeFromVariablesAndFiles) {
  setenv(kVariable, "from the environment", 1);
  EXPECT_EQ(ReadSecret("env:HOLDFAST_TEST_SECRET")->Reveal(), "from the environment");
  EXPECT_EQ(ReadSecret("file:" + File("a", "from a file\n"))->Reveal(), "from a file");
  EXPECT_EQ(ReadSecret("file:" + File("b", "two\nlines\r\n"))->Reveal(), "two\nlines");
}

TEST_F(SecretsOfConfig, ThatAreMissingOrTooShortAreSaid) {
  unsetenv(kVariable);
  EXPECT_EQ(ProblemOf("env:HOLDFAST_TEST_SECRET"), "the variable HOLDFAST_TEST_SECRET is not set");
  setenv(kVariable, "1234567", 1);
  EXPECT_EQ(ProblemOf("env:HOLDFAST_TEST_SECRET"),
            "the value of env:HOLDFAST_TEST_SECRET must have 8 to 4096 bytes");
  setenv(kVariable, "", 1);
  EXPECT_NE(ProblemOf("env:HOLDFAST_TEST_SECRET"), "");
  EXPECT_EQ(ProblemOf("file:/nowhere/at/all"),
            "the file /nowhere/at/all cannot be read: No such file or directory");
  EXPECT_NE(ProblemOf("file:" + dir_.path().string()), "");
  EXPECT_NE(ProblemOf("file:" + File("long", std::string(kSecretBytesMost + 1, 'x'))), "");
  std::string longest(kSecretBytesMost, 'x');
  longest += '\n';
  EXPECT_EQ(ProblemOf("file:" + File("longest", longest)), "");
}

TEST_F(SecretsOfConfig, StartNothingWithoutTheirValues) {
  unsetenv(kVariable);
  const auto config = ParseConfig(
      "secrets:\n"
      "  known:\n"
      "    - env:HOLDFAST_TEST_SECRET\n"
      "    - file:/nowhere\n",
      kUserHome);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(
      std::string(LoadSecrets(config->secrets).status().message()),
      "line 3: secrets.known[0]: the variable HOLDFAST_TEST_SECRET is not set\n"
      "line 4: secrets.known[1]: the file /nowhere cannot be read: No such file or directory");
}

TEST_F(SecretsOfConfig, AreRefusedByPathAndLineAndNeverRepeated) {
  const auto config = ParseConfig(
      "secrets:\n"
      "  known: [hunter2hunter2, 'env:1A', 'file:relative']\n"
      "  patterns: ['[a-', 'x*', 7]\n"
      "  unknown: []\n",
      kUserHome);
  EXPECT_EQ(std::string(config.status().message()),
            "line 2: secrets.known[0]: must be env:NAME, or file:PATH with an absolute path; a "
            "secret itself does not belong here\n"
            "line 2: secrets.known[1]: must be env:NAME, or file:PATH with an absolute path; a "
            "secret itself does not belong here\n"
            "line 2: secrets.known[2]: must be env:NAME, or file:PATH with an absolute path; a "
            "secret itself does not belong here\n"
            "line 3: secrets.patterns[0]: is no pattern: missing ]: [a-\n"
            "line 3: secrets.patterns[1]: matches every text, or nearly every one\n"
            "line 3: secrets.patterns[2]: must be a text\n"
            "line 4: secrets.unknown: unknown key");
}

TEST_F(SecretsOfConfig, ArePrintedAsReferences) {
  setenv(kVariable, "from the environment", 1);
  Config config = DefaultConfig(kUserHome);
  config.secrets.known = {{.text = "env:HOLDFAST_TEST_SECRET"}, {.text = "file:/a: b"}};
  config.secrets.patterns = {R"(sk-[A-Za-z0-9]{20,}\b"')", "\xc3\xa4{8}"};
  const std::string printed = PrintConfig(config);
  EXPECT_EQ(printed.find("from the environment"), std::string::npos);
  const auto loaded = ParseConfig(printed, kUserHome);
  ASSERT_TRUE(loaded.ok()) << loaded.status() << printed;
  EXPECT_EQ(*loaded, config) << printed;
}

TEST(Secret, PrintsAsStars) {
  std::ostringstream out;
  out << Secret("password");
  EXPECT_EQ(out.str(), "***");
}

TEST(SecretScanner, FindsValuesAsTheyAreAndAsJsonWritesThem) {
  const std::vector<Secret> values = {Secret("plain-value"), Secret("quote\"line\nend"),
                                      Secret("gr\xc3\xbc\xc3\x9f-value"),
                                      Secret(std::string("\xff\x00\x01-bytes", 9))};
  EXPECT_EQ(FindIn(values, {}, "a plain-value"), 2);
  EXPECT_EQ(FindIn(values, {}, R"({"a":"quote\"line\nend"})"), 6);
  EXPECT_EQ(FindIn(values, {}, R"(gr\u00fc\u00df-value)"), 0);
  EXPECT_EQ(FindIn(values, {}, "gr\xc3\xbc\xc3\x9f-value"), 0);
  EXPECT_EQ(FindIn(values, {}, std::string("x\xff\x00\x01-bytes", 10)), 1);
  EXPECT_EQ(FindIn(values, {}, "plain-valu PLAIN-VALUE"), std::nullopt);
}

TEST(SecretScanner, FindsTheFirstOfValuesAndPatterns) {
  const std::vector<Secret> values = {Secret("plain-value")};
  const std::vector<std::string> patterns = {"sk-[a-z]{8}", R"(\Qghp_\E[0-9]{4})", R"(\Qunclosed)"};
  EXPECT_EQ(FindIn(values, patterns, "plain-value sk-abcdefgh"), 0);
  EXPECT_EQ(FindIn(values, patterns, "1 sk-abcdefgh plain-value"), 2);
  EXPECT_EQ(FindIn(values, patterns, "ghp_1234"), 0);
  EXPECT_EQ(FindIn(values, patterns, "12 unclosed"), 3);
  EXPECT_EQ(FindIn(values, patterns, "sk-abc ghp_x"), std::nullopt);
}

TEST(SecretScanner, AsManyAndAsLongAsAllowedAreFound) {
  std::vector<Secret> values;
  for (size_t i = 0; i < kKnownSecretsMost; ++i) {
    values.emplace_back(std::string(kSecretBytesMost - 1, '.') + static_cast<char>('0' + i));
  }
  const std::string clean(4 * kMiB, '.');
  EXPECT_EQ(FindIn(values, {}, clean), std::nullopt);
  EXPECT_EQ(FindIn(values, {}, clean + "5"), clean.size() - (kSecretBytesMost - 1));
}

}  // namespace
}  // namespace holdfast::test
