#include "bench/figures.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <utility>

namespace holdfast::bench {
namespace {

// Four significant digits, and no exponent.
std::string Text(double value) {
  int decimals = 0;
  for (double bound = 1000; decimals < 6 && value < bound; bound /= 10) ++decimals;
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return {text.data(), static_cast<size_t>(size)};
}

// The same without zeros at the end.
std::string BoundText(double bound) {
  std::string text = Text(bound);
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string GoalText(const Goal& goal) {
  return (goal.at_least ? ">=" : "<=") + BoundText(goal.bound);
}

bool Reached(const Goal& goal, double value) {
  return goal.at_least ? value >= goal.bound : value <= goal.bound;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Figures::Figures(std::string bench, const std::string& directory, std::string_view environment)
    : bench_(std::move(bench)), rounds_(directory + "/" + bench_ + ".rounds") {
  rounds_ << environment << "# round what unit value\n";
}

void Figures::Note(size_t round, std::string_view what, std::string_view unit, double value) {
  rounds_ << round << ' ' << what << ' ' << unit << ' ' << value << std::endl;
}

void Figures::Keep(size_t round, std::string_view what, std::string_view unit, double value,
                   std::vector<double>& values) {
  Note(round, what, unit, value);
  values.push_back(value);
}

void Figures::Print(std::string_view name, double value, std::optional<Goal> goal) {
  const bool reached = !goal || Reached(*goal, value);
  std::string line = bench_;
  line.append(".").append(name).append(" ").append(Text(value)).append(" ");
  line.append(goal ? GoalText(*goal) : "-").append(reached ? " ok" : " short");
  if (goal && goal->limit) line.append(" limit=").append(BoundText(*goal->limit));
  std::cout << line << std::endl;
  rounds_ << "# figure " << line << std::endl;
}

void Figures::Remark(std::string_view text) {
  std::cerr << "# " << text << std::endl;
  rounds_ << "# " << text << std::endl;
}

}  // namespace holdfast::bench
