// holdfastd: reads its flags and its configuration, and serves.
#include "holdfast/version.h"
#include "platform/clock.h"
#include "platform/status_macros.h"
#include "server/app.h"
#include "server/config.h"
#include "server/container.h"
#include "server/database_admin.h"
#include "server/flags.h"
#include "server/foreign_log.h"
#include "server/healthcheck.h"
#include "server/log.h"
#include "server/log_writer.h"
#include "server/signals.h"
#include "server/stores.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/store_metrics.h"
#include "session/saboteur.h"

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"

#include <cerrno>
#include <iostream>
#include <malloc.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsageError = 2;

int Fail(const absl::Status& status) {
  std::cerr << "holdfastd: " << std::string(status.message()) << "\n";
  return kFailed;
}

// Why no server was started, as a line of the log that it would have had.
int RefuseStart(std::string_view message, const std::string& problem) {
  std::cerr << LogLine(SystemClock().Wall(), LogLevel::kError, message, {{"problem", problem}});
  return kFailed;
}

LogSettings LogSettingsOf(const TelemetryConfig& telemetry) {
  LogSettings settings;
  if (telemetry.log_level == "warning") settings.level = LogLevel::kWarning;
  if (telemetry.log_level == "error") settings.level = LogLevel::kError;
  if (telemetry.calls == "refused") settings.calls = LogSettings::Calls::kRefused;
  if (telemetry.calls == "none") settings.calls = LogSettings::Calls::kNone;
  return settings;
}

// The exit code of a command that prints and ends with `code`.
int Printed(int code) {
  errno = 0;
  if (std::cout.flush()) return code;
  std::cerr << "holdfastd: the output could not be written: "
            << std::generic_category().message(errno) << "\n";
  return kFailed;
}

// A commit frees several buffers of its size, and the next one wants them back: giving them to the
// system in between costs a tenth of the processor time of a commit (ADR 14).
void KeepFreedMemory() {
  constexpr int kMebibyte = 1024 * 1024;
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs yet
  mallopt(M_TRIM_THRESHOLD, 64 * kMebibyte);
  mallopt(M_MMAP_THRESHOLD, 32 * kMebibyte);
  mallopt(M_TOP_PAD, kMebibyte);
  // NOLINTEND(concurrency-mt-unsafe)
}

// Serves until it is asked to stop; the error says why it could not begin.
absl::StatusOr<int> ServeLogged(Config config) {
  LogWriter writer(StandardError(), SystemClock());
  const FlushOnAbort flush(writer);
  Log log(writer.sink(), SystemClock(), LogSettingsOf(config.telemetry));
  const ForeignLog foreign(log);
  Metrics metrics;
  StoreMetrics store_metrics(metrics, SystemClock());
  StoreMaker make_store = MakerOfStores(config.retention, log, store_metrics);
  ASSIGN_OR_RETURN(const std::unique_ptr<App> app,
                   App::Start({.config = std::move(config),
                               .make_store = std::move(make_store),
                               .clock = SystemClock(),
                               .random = SystemRandom(),
                               .log = log,
                               .metrics = metrics,
                               .store_metrics = &store_metrics,
                               .container = Container::OfProcess(),
                               .log_lines_dropped = [&writer] { return writer.dropped(); }}));
  if (kTestBuild) {
    log.Warn("TEST BUILD: for tests, not for sessions; the preset release makes what is shipped",
             {{"version", BuildVersion()}});
  }
  const SignalWatch signals([&] { app->RequestStop(); });
  std::cout << app->ReadyLine() << std::endl;  // NOLINT(performance-avoid-endl): a process that
                                               // waits for the line must see it now
  return app->Run();
}

// Tokens and secrets are in memory: no core dump, and no other process of this user may look into
// this one.
void HideMemory() {
  constexpr rlimit kNone{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &kNone);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg, hicpp-vararg): prctl has no other form
  prctl(PR_SET_DUMPABLE, 0);
}

int Serve(Config config) {
  ActiveSaboteur();  // a test build aborts at an unknown name
  KeepFreedMemory();
  if (!config.server.core_dumps) HideMemory();
  // The system's Abseil looks for deadlocks at every lock, under one lock of its own. Tests keep
  // that.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const absl::StatusOr<int> code = ServeLogged(std::move(config));
  return code.ok() ? *code
                   : RefuseStart("the start is refused", std::string(code.status().message()));
}

int RefuseConfig(const Flags& flags, const absl::Status& why) {
  constexpr std::string_view kRefused = "the configuration is refused";
  if (flags.action != Flags::Action::kServe) {
    std::cerr << "holdfastd: " << kRefused << ":\n" << std::string(why.message()) << "\n";
    return kFailed;
  }
  // One line for each violation, since a line of the log is bounded.
  const std::vector<std::string> problems = absl::StrSplit(std::string(why.message()), '\n');
  for (const std::string& problem : problems) RefuseStart(kRefused, problem);
  return kFailed;
}

int Ask(const Flags& flags, const Config& config) {
  const std::string& address = flags.address.empty() ? config.server.address : flags.address;
  const absl::Status health = AskHealth({.address = address, .service = flags.service});
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
  const auto lines = MigrateDatabases(config);
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
  // A request for a named server's health needs no configuration.
  if (!config.ok() && !flags.address.empty()) return Ask(flags, {});
  if (!config.ok()) return RefuseConfig(flags, config.status());
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
    std::cerr << "holdfastd: " << std::string(flags.status().message()) << "\n";
    return kUsageError;
  }
  if (flags->action == Flags::Action::kHelp) {
    std::cout << flags->help;
    return Printed(kDone);
  }
  if (flags->action == Flags::Action::kPrintVersion) {
    std::cout << "holdfastd " << BuildVersion() << (kTestBuild ? " (test build)" : "") << "\n";
    return Printed(kDone);
  }
  const int code = RunWithConfig(*flags);
  return flags->action == Flags::Action::kServe ? code : Printed(code);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::PrepareSignals();
  const std::span<char* const> all(argv, static_cast<size_t>(argc));
  return holdfast::Main(all.subspan(all.empty() ? 0 : 1));
}
