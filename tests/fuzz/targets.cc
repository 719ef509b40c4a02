#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace holdfast::fuzz {

void Require(bool holds, const char* words) {
  if (holds) return;
  std::cerr << "fuzz: " << words << std::endl;
  std::abort();
}

void Run(std::string_view target, std::string_view bytes) {
  const auto* found = std::ranges::find(kTargets, target, &Target::name);
  Require(found != kTargets.end(), "no target has this name");
  found->run(bytes);
}

}  // namespace holdfast::fuzz
