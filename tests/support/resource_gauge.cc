#include "tests/support/resource_gauge.h"

#include "tests/support/channel.h"
#include "tests/support/child_process.h"
#include "tests/support/wait.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace holdfast::testing {
namespace {

namespace stdfs = std::filesystem;

constexpr absl::Duration kFirstMeasureMost = absl::Minutes(1);

// The entries of a directory of /proc, without those that end meanwhile.
template <typename Visit>
void ForEachEntry(const stdfs::path& directory, Visit visit) {
  std::error_code gone;
  for (stdfs::directory_iterator entry(directory, gone), end; !gone && entry != end;
       entry.increment(gone)) {
    visit(entry->path());
  }
}

}  // namespace

ProcessUse ProcessUse::Of(pid_t pid) {
  const stdfs::path process = absl::StrCat("/proc/", pid);
  const std::string name = ReadText(process / "comm");
  ProcessUse use;
  ForEachEntry(process / "task", [&](const stdfs::path& task) {
    if (ReadText(task / "comm") == name) ++use.threads;
  });
  ForEachEntry(process / "fd", [&](const stdfs::path& descriptor) {
    std::error_code gone;
    const std::string target = stdfs::read_symlink(descriptor, gone);
    if (gone) return;
    if (absl::StartsWith(target, "socket:")) ++use.sockets;
    if (absl::StartsWith(target, "/") && !absl::StrContains(target, "/t/")) ++use.files;
  });
  return use;
}

std::ostream& operator<<(std::ostream& out, const ProcessUse& use) {
  return out << use.threads << " threads, " << use.sockets << " sockets, " << use.files << " files";
}

std::ostream& operator<<(std::ostream& out, const ResourceGauge::Use& use) {
  return out << use.process << ", " << use.calls << " calls, " << use.clients.ShortDebugString();
}

ResourceGauge::ResourceGauge(pid_t pid, const std::string& address, size_t store_sockets)
    : pid_(pid),
      store_sockets_(store_sockets),
      admin_(v1::AdminService::NewStub(Connected(address))) {
  WaitUntil([this] { return (before_ = Measure()).has_value(); }, kFirstMeasureMost);
  if (!before_.has_value()) ADD_FAILURE() << "what the server holds cannot be measured";
}

std::optional<v1::StatusResponse> ResourceGauge::Status() {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
  v1::StatusResponse status;
  if (!admin_->Status(&context, {}, &status).ok()) return std::nullopt;
  return status;
}

std::optional<ResourceGauge::Use> ResourceGauge::Measure() {
  const auto earlier = Status();
  const ProcessUse process = ProcessUse::Of(pid_);
  const auto status = Status();
  if (!earlier || !status) return std::nullopt;
  // Otherwise a connection came or ended while descriptors were counted.
  if (earlier->resources().connections() != status->resources().connections()) return std::nullopt;
  Use use = {
      .process = process, .clients = status->resources(), .calls = status->calls_in_progress()};
  use.process.sockets -= std::min<size_t>(use.process.sockets, use.clients.connections());
  use.clients.clear_connections();
  return use;
}

bool ResourceGauge::IsBack(const Use& now) const {
  const ProcessUse& before = before_->process;
  // The start itself takes more for a moment. What clients hold is nothing but the call that asks.
  return now.process.threads <= before.threads && now.process.files <= before.files &&
         now.process.sockets <= before.sockets + store_sockets_ && now.calls == 1 &&
         now.clients.staged_bytes() == 0 && now.clients.streams() == 0 &&
         now.clients.watchers() == 0 &&
         now.clients.memory_bytes() <= before_->clients.memory_bytes();
}

void ResourceGauge::ExpectBack() {
  if (!before_.has_value()) return;
  std::optional<Use> now;
  const bool back = WaitUntil([&] {
    now = Measure();
    return now.has_value() && IsBack(*now);
  });
  if (!now.has_value()) {
    ADD_FAILURE() << "the server does not answer, or its connections come and go";
  } else {
    EXPECT_TRUE(back) << "held at the beginning: " << *before_ << "\nstill held: " << *now;
  }
}

}  // namespace holdfast::testing
