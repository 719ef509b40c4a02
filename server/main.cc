// holdfastd: reads its flags and its configuration, and serves.
#include "server/app.h"
#include "server/config.h"
#include "server/flags.h"
#include "server/healthcheck.h"
#include "server/log.h"
#include "server/signals.h"
#include "server/stores.h"
#include "server/version.h"
#include "session/clock.h"

#include "absl/synchronization/mutex.h"

#include <iostream>
#include <malloc.h>
#include <span>
#include <string>
#include <utility>

namespace holdfast {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsageError = 2;

int Fail(const absl::Status& status) {
  std::cerr << "holdfastd: " << std::string(status.message()) << "\n";
  return kFailed;
}

// A commit frees several buffers of its size, and the next one wants them back: giving them to the
// system in between costs a tenth of the processor time of a commit (docs/adr/0014).
void KeepFreedMemory() {
  constexpr int kMebibyte = 1024 * 1024;
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs yet
  mallopt(M_TRIM_THRESHOLD, 64 * kMebibyte);
  mallopt(M_MMAP_THRESHOLD, 32 * kMebibyte);
  mallopt(M_TOP_PAD, kMebibyte);
  // NOLINTEND(concurrency-mt-unsafe)
}

int Serve(Config config) {
  KeepFreedMemory();
  // The system's Abseil looks for deadlocks at every lock, under one lock of its own. Tests keep
  // that.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Log log(StandardError(), SystemClock());
  auto app = App::Start({.config = std::move(config),
                         .make_store = MakeStore,
                         .clock = SystemClock(),
                         .random = SystemRandom(),
                         .log = log});
  if (!app.ok()) return Fail(app.status());
  const SignalWatch signals([&] { (*app)->RequestStop(); });
  std::cout << (*app)->ReadyLine()
            << std::endl;  // NOLINT(performance-avoid-endl): whoever waits for it must see it now
  return (*app)->Run();
}

int Ask(const Flags& flags, const Config& config) {
  const absl::Status health =
      AskHealth(flags.address.empty() ? config.server.address : flags.address);
  if (!health.ok()) return Fail(health);
  std::cout << "serving\n";
  return kDone;
}

int Adopt(const Config& config) {
  const auto store = AdoptStore(config, SystemClock(), SystemRandom());
  if (!store.ok()) return Fail(store.status());
  std::cout << "adopted: store " << store->store.value() << ", incarnation "
            << store->incarnation.value() << "\n";
  return kDone;
}

int Migrate(const Config& config) {
  const auto lines = MigrateStores(config);
  if (!lines.ok()) return Fail(lines.status());
  for (const std::string& line : *lines) std::cout << line << "\n";
  return kDone;
}

int ShowSchemas(const Config& config) {
  const auto status = ReadSchemas(config);
  if (!status.ok()) return Fail(status.status());
  for (const std::string& line : status->lines) std::cout << line << "\n";
  return status->serves ? kDone : kFailed;
}

int RunWithConfig(const Flags& flags) {
  absl::StatusOr<Config> config = LoadConfig(flags.config, Environment::OfProcess());
  // Whoever names the server needs no configuration to ask for its health.
  if (!config.ok() && !flags.address.empty()) return Ask(flags, {});
  if (!config.ok()) {
    std::cerr << "holdfastd: the configuration is refused:\n"
              << std::string(config.status().message()) << "\n";
    return kFailed;
  }
  switch (flags.action) {
    case Flags::Action::kCheckConfig:
      std::cout << "the configuration is valid\n";
      return kDone;
    case Flags::Action::kPrintConfig:
      std::cout << PrintConfig(*config);
      return kDone;
    case Flags::Action::kHealthcheck:
      return Ask(flags, *config);
    case Flags::Action::kAdopt:
      return Adopt(*config);
    case Flags::Action::kMigrate:
      return flags.status ? ShowSchemas(*config) : Migrate(*config);
    default:
      return Serve(*std::move(config));
  }
}

int Main(std::span<char* const> arguments) {
  const absl::StatusOr<Flags> flags = ParseFlags(arguments);
  if (!flags.ok()) {
    std::cerr << "holdfastd: " << std::string(flags.status().message()) << "\n" << kUsage;
    return kUsageError;
  }
  if (flags->action == Flags::Action::kHelp) {
    std::cout << kUsage;
    return kDone;
  }
  if (flags->action == Flags::Action::kVersion) {
    std::cout << "holdfastd " << kVersion << "\n";
    return kDone;
  }
  return RunWithConfig(*flags);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::PrepareSignals();
  const std::span<char* const> all(argv, static_cast<size_t>(argc));
  return holdfast::Main(all.subspan(all.empty() ? 0 : 1));
}
