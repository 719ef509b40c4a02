// Figures and the rounds they come from.
//
//   Figures figures("commit-fs", plan.results, environment);
//   figures.Note(1, "commit.32", "per_second", 8123.0);
//   figures.Print("commit-over-echo.32", Median(ratios), AtLeast(0.7));
#ifndef HOLDFAST_BENCH_FIGURES_H_
#define HOLDFAST_BENCH_FIGURES_H_

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

// What a figure should reach, and where it is known what it cannot exceed: measured parts added up.
// The limit is printed and not checked.
struct Goal {
  bool at_least = true;
  double bound = 0;
  std::optional<double> limit = std::nullopt;
};
constexpr Goal AtLeast(double bound, std::optional<double> limit = std::nullopt) {
  return {.at_least = true, .bound = bound, .limit = limit};
}
constexpr Goal AtMost(double bound, std::optional<double> limit = std::nullopt) {
  return {.at_least = false, .bound = bound, .limit = limit};
}

double Median(std::vector<double> values);

// Writes one bench's rounds into `<directory>/<bench>.rounds` and its figures to standard output.
// Used by one thread.
class Figures {
 public:
  // The file begins with `environment`, so that it can be read alone.
  Figures(std::string bench, const std::string& directory, std::string_view environment);

  // One value of one round: a line `round what unit value` of the file.
  void Note(size_t round, std::string_view what, std::string_view unit, double value);
  // The same, and adds it to the `values` of all rounds.
  void Keep(size_t round, std::string_view what, std::string_view unit, double value,
            std::vector<double>& values);
  // Prints `<bench>.<name> VALUE GOAL ok|short`, and `limit=BOUND` behind it where the goal has
  // one. A figure without a goal is printed alone.
  void Print(std::string_view name, double value, std::optional<Goal> goal = std::nullopt);
  // A remark for people, to standard error and the file.
  void Remark(std::string_view text);

 private:
  const std::string bench_;
  std::ofstream rounds_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_FIGURES_H_
