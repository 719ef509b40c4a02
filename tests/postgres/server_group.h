// Several servers, as processes, over one database of a cluster of their own.
#ifndef HOLDFAST_TESTS_POSTGRES_SERVER_GROUP_H_
#define HOLDFAST_TESTS_POSTGRES_SERVER_GROUP_H_

#include "tests/support/postgres.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"
#include "tests/support/wrong_clock.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

// The program is the one before: it knows the schema but for its newest step.
Environment OneStepBehind();

// For one thread, but the clients. The processes end with it.
class ServerGroup final {
 public:
  // A cluster without a store.
  ServerGroup();

  // Brings the schema to this program's version, or fails the test.
  void MakeStore();
  // Starts one more server, or fails the test; `more` are lines of its configuration.
  void Add(const std::string& more = "", const Environment& environment = {});
  // The machine's clock is off by so many seconds for the process; time since boot is not.
  [[nodiscard]] Environment ClockOff(int seconds) const;
  // Starts it again, at its old address, with another environment.
  void Restart(size_t server, const Environment& environment = {});
  // Runs `holdfastd migrate` with `arguments` behind it; the exit code. What it says is in `said`.
  int Migrate(std::string& said, const std::vector<std::string>& arguments = {},
              const Environment& environment = {});
  // Several statements as the owner of everything; the test fails when one does.
  void Do(const std::string& sql) const;

  [[nodiscard]] size_t size() const { return servers_.size(); }
  [[nodiscard]] OwnPostgres& postgres() { return postgres_; }
  [[nodiscard]] ServerProcess& server(size_t at) { return *servers_.at(at).process; }
  // To the server that was started there last; any thread may use it.
  [[nodiscard]] WireClient& client(size_t at) { return *servers_.at(at).client; }
  [[nodiscard]] std::vector<std::string> Addresses() const;
  // Of PostgreSQL and every server, for a failed test.
  [[nodiscard]] std::string Logs() const;
  // False when one of them has ended by itself.
  [[nodiscard]] bool AllRunning();

 private:
  struct Member {
    std::unique_ptr<TestFolder> folder;
    std::unique_ptr<ServerProcess> process;
    std::unique_ptr<WireClient> client;
  };
  static void Start(Member& member, const Environment& environment);

  const TestFolder folder_;
  OwnPostgres postgres_{{"fsync=off"}};
  std::vector<Member> servers_;
  int runs_ = 0;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_POSTGRES_SERVER_GROUP_H_
