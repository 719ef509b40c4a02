#include "tests/postgres/server_group.h"

#include "tests/support/wait.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <fstream>

namespace holdfast::testing {

Environment OneStepBehind() { return {{"HOLDFAST_SABOTEUR", "one_step_behind"}}; }

ServerGroup::ServerGroup() { postgres_.Start(); }

void ServerGroup::MakeStore() {
  std::string said;
  ASSERT_EQ(Migrate(said), 0) << said;
}

void ServerGroup::Add(const std::string& more, const Environment& environment) {
  Member member{.folder = std::make_unique<TestFolder>()};
  member.process = std::make_unique<ServerProcess>(
      *member.folder, ServerSettings{.more = more, .dsn = postgres_.dsn()});
  Start(member, environment);
  servers_.push_back(std::move(member));
}

void ServerGroup::Restart(size_t server, const Environment& environment) {
  Start(servers_.at(server), environment);
}

Environment ServerGroup::ClockOff(int seconds) const { return testing::ClockOff(folder_, seconds); }

void ServerGroup::Start(Member& member, const Environment& environment) {
  const ScopedEnvironment scoped(environment);
  // Where the machine has other work a new database may not answer within the server's patience.
  ASSERT_TRUE(WaitUntil([&] { return member.process->Start(); })) << member.process->Log();
  member.client = std::make_unique<WireClient>(member.process->address());
}

int ServerGroup::Migrate(std::string& said, const std::vector<std::string>& arguments,
                         const Environment& environment) {
  const std::string config = folder_.File("holdfastd.yaml");
  std::ofstream(config) << "stores: [{name: team, kind: postgres, active: true, dsn: \""
                        << postgres_.dsn() << "\"}]\n";
  std::vector<std::string> words = {Program("holdfastd"), "migrate", "--config", config};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string out = folder_.File("migrate." + std::to_string(++runs_));
  const ScopedEnvironment scoped(environment);
  const int code = RunToEnd(words, out, out).exit_code;
  said = ReadText(out);
  return code;
}

void ServerGroup::Do(const std::string& sql) const {
  EXPECT_EQ(Connect(postgres_.dsn())->Script(sql), absl::OkStatus()) << sql;
}

std::vector<std::string> ServerGroup::Addresses() const {
  std::vector<std::string> addresses;
  for (const Member& member : servers_) addresses.push_back(member.process->address());
  return addresses;
}

std::string ServerGroup::Logs() const {
  std::string logs = postgres_.Log();
  for (const Member& member : servers_) logs += member.process->Log();
  return logs;
}

bool ServerGroup::AllRunning() {
  return std::ranges::all_of(servers_, [](Member& member) { return member.process->Running(); });
}

}  // namespace holdfast::testing
