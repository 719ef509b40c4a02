#include "tests/recovery/replay_under_way.h"

#include "tests/support/wait.h"

#include <cstdlib>
#include <filesystem>

namespace holdfast::testing {
namespace {

constexpr char kOwn[] = "tests/data/conversation.jsonl";
constexpr char kRun[] = "killed";
constexpr int kRepeatOfRecorded = 4;
constexpr int kRepeatOfOwn = 400;

std::vector<std::string> Command(const std::string& address, const Recordings& recordings) {
  std::vector<std::string> words = {Program("holdfast"),
                                    "--address",
                                    address,
                                    "replay",
                                    "--run",
                                    kRun,
                                    "--parallel",
                                    std::to_string(recordings.parallel),
                                    "--repeat",
                                    std::to_string(recordings.repeat)};
  words.insert(words.end(), recordings.files.begin(), recordings.files.end());
  return words;
}

std::vector<std::string> DriveCommand(const TestFolder& folder, const std::string& address,
                                      const Recordings& recordings) {
  std::vector<std::string> words = Command(address, recordings);
  words.insert(words.end(),
               {"--pace", recordings.pace, "--patience", "60s", "--log", folder.File("calls.log")});
  return words;
}

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Recordings FindRecordings() {
  const char* folder = std::getenv("HOLDFAST_TRAJECTORIES");
  if (folder == nullptr) return {.files = {kOwn}, .repeat = kRepeatOfOwn};
  Recordings found{.repeat = kRepeatOfRecorded};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jsonl") found.files.push_back(entry.path());
  }
  return found;
}

ReplayUnderWay::ReplayUnderWay(const TestFolder& folder, const std::string& address,
                               const Recordings& recordings)
    : folder_(folder),
      history_(folder.File("calls.log")),
      process_(DriveCommand(folder, address, recordings), folder.File("replay.out"),
               folder.File("replay.err")) {}

bool ReplayUnderWay::WaitForTraffic(size_t calls) {
  history_.Read();
  const size_t wanted = history_.acknowledged() + calls;
  const bool there = WaitUntil([&] {
    history_.Read();
    const bool enough = history_.acknowledged() >= wanted && !history_.InFlight().empty();
    return enough || !process_.Running();
  });
  return there && process_.Running();
}

std::string ReplayUnderWay::Sum() const { return LastLine(ReadText(folder_.File("replay.out"))); }

std::string ReplayUnderWay::Errors() const { return ReadText(folder_.File("replay.err")); }

int VerifyReplay(const TestFolder& folder, const std::string& address, const Recordings& recordings,
                 std::string& sum) {
  std::vector<std::string> words = Command(address, recordings);
  words.emplace_back("--verify-only");
  const Ending ending = RunToEnd(words, folder.File("verify.out"), folder.File("verify.err"));
  sum = LastLine(ReadText(folder.File("verify.out")));
  return ending.exit_code;
}

}  // namespace holdfast::testing
