// Every reason, from a holdfastd as it is shipped, by nothing but calls and what people and
// machines do to it: word for word in tests/golden/reasons.golden. Here over files;
// tests/postgres/reasons_test.cc has those of a database.
#include "session/reasons.h"

#include "store-fs/recovery.h"
#include "tests/support/aged_store.h"
#include "tests/support/changes.h"
#include "tests/support/golden.h"
#include "tests/support/reason_cases.h"
#include "tests/support/requests.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <string>
#include <utility>

namespace holdfast::testing {
namespace {

namespace stdfs = std::filesystem;

using test::RefusalCases;

stdfs::path PathOf(const ReasonPlace& place, const std::string& session) {
  return place.folder().path() / "data" / fs::DirectoryOf(test::Key(session));
}

class FileReasons : public ReasonCases {
 public:
  void Damage();
  void FullDisk();

 private:
  void LetEightDaysPass(ReasonPlace& place) override;
};

void FileReasons::LetEightDaysPass(ReasonPlace& place) {
  place.Stop();
  LetTimePass(place.folder().path() / "data", 8 * absl::Hours(24));
  place.Start();
}

void FileReasons::Damage() {
  ReasonPlace place;
  place.cases().Create("drift");
  const std::string token = place.cases().Create("damaged");
  place.cases().Begin("damaged", token);
  place.Stop();
  for (const auto& [session, file] :
       {std::pair("drift", "manifest.json"), std::pair("damaged", "journal.log")}) {
    const stdfs::path path = PathOf(place, session) / file;
    std::string bytes = test::ReadFile(path);
    bytes[200] ^= 1;
    test::WriteFile(path, bytes);
  }
  place.Start();
  place.cases().Refused("a manifest that was edited", "",
                        [&] { return place.cases().AskGet("drift"); });
  place.cases().Refused("a journal that was edited", "",
                        [&] { return place.cases().AskGet("damaged"); });
  Keep(place.cases());
  place.Stop();
}

void FileReasons::FullDisk() {
  const test::SmallDisk disk("2m");
  ReasonPlace place({.root = disk.path() / "root"});
  RefusalCases& cases = place.cases();
  const std::string token = cases.Create("full");
  cases.Begin("full", token);
  test::WriteFile(disk.path() / "ballast", std::string(1'500'000, 'x'));
  const auto large = test::CommitRequest("full", token, 1, std::string(1'000'000, 'm'));
  for (const char* name : {"a full disk", "a full disk again", "a full disk for the third time"}) {
    cases.Refused(name, "full", [&] { return cases.Ask(&RefusalCases::Stub::CommitTurn, large); });
  }
  stdfs::remove(disk.path() / "ballast");
  EXPECT_TRUE(cases.Ask(&RefusalCases::Stub::CommitTurn, large).ok())
      << "the same request, with room";
  Keep(cases);
  place.Stop();
}

TEST(Reasons, EachIsReachedFromOutside) {
  FileReasons reasons;
  reasons.Asked();
  reasons.Damage();
  reasons.FullDisk();
  reasons.Draining();
  reasons.Load();
  reasons.OldEvents();
  test::ExpectGolden("reasons.golden", reasons.TakeText());
  reasons.ExpectAllSeen();
}

}  // namespace
}  // namespace holdfast::testing
