#include "cli/replay/progress.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

constexpr uint64_t kBarColumns = 40;
constexpr absl::Duration kRedraw = absl::Milliseconds(100);

}  // namespace

std::string Bar(uint64_t done, uint64_t total) {
  const uint64_t filled = total == 0 ? kBarColumns : std::min(done, total) * kBarColumns / total;
  return absl::StrCat("[", std::string(filled, '#'), std::string(kBarColumns - filled, '.'), "] ",
                      done, "/", total, " turns");
}

Progress::Progress(std::ostream& out, const Clock& clock, uint64_t total, const Terminal& terminal)
    : out_(out), clock_(clock), total_(total), visible_(terminal.present) {}

void Progress::Advance() {
  if (!visible_) return;
  const absl::MutexLock lock(&mutex_);
  ++done_;
  const absl::Duration now = clock_.Monotonic();
  if (now - drawn_ < kRedraw && done_ < total_) return;
  drawn_ = now;
  out_ << '\r' << Bar(done_, total_) << std::flush;
}

void Progress::Finish() {
  if (!visible_) return;
  const absl::MutexLock lock(&mutex_);
  out_ << "\r\033[K" << std::flush;
}

}  // namespace holdfast::cli
