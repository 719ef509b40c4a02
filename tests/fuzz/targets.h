// Targets for code that reads untrusted bytes. Each takes any bytes, and checks what must hold of
// them, not only that nothing crashes.
//
// fuzz_test replays what is stored under seeds/; with HOLDFAST_FUZZ each target is also a program
// of libFuzzer's (cmake/holdfast.cmake, tests/fuzz/long.py).
#ifndef HOLDFAST_TESTS_FUZZ_TARGETS_H_
#define HOLDFAST_TESTS_FUZZ_TARGETS_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fuzz {

// A frame of the journal, the records in it, and the recovery of a session from a whole journal.
void Journal(std::string_view bytes);
// A file of the write-ahead log, and what one write of it holds.
void WriteAhead(std::string_view bytes);
// A run of a session's sorted index, and the parts of it.
void Index(std::string_view bytes);
// manifest.json.
void Manifest(std::string_view bytes);
// The configuration's YAML.
void Config(std::string_view bytes);
// Lease tokens and page tokens.
void Tokens(std::string_view bytes);
// Requests of the wire, as far as the domain's checks.
void Requests(std::string_view bytes);
// The counts on the wire, against what the library makes of the same bytes.
void Wire(std::string_view bytes);

struct Target {
  const char* name;  // also the folder of its seeds
  void (*run)(std::string_view bytes);
};
inline constexpr std::array<Target, 8> kTargets = {{{"journal", Journal},
                                                    {"write_ahead", WriteAhead},
                                                    {"index", Index},
                                                    {"manifest", Manifest},
                                                    {"config", Config},
                                                    {"tokens", Tokens},
                                                    {"requests", Requests},
                                                    {"wire", Wire}}};

// Runs the target of this name. Aborts when there is none.
void Run(std::string_view target, std::string_view bytes);

// A seed that is made from what the project writes itself.
struct Seed {
  std::string target;
  std::string name;
  std::string bytes;
};
std::vector<Seed> SeedsOfRealArtefacts();

// Ends the program with the words when something that must hold does not.
void Require(bool holds, const char* words);

// The golden session whose manifest belongs to all journals: `beta` of tests/golden/root.1.
inline constexpr char kGoldenSession[] = "tests/golden/root.1/t/default/beta/";

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_TARGETS_H_
