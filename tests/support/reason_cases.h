// The refusals that take more than asking, on a holdfastd as it is shipped and whatever store is
// under it; what it answers is noted for a comparison word by word.
#ifndef HOLDFAST_TESTS_SUPPORT_REASON_CASES_H_
#define HOLDFAST_TESTS_SUPPORT_REASON_CASES_H_

#include "session/reasons.h"
#include "tests/support/refusal_cases.h"
#include "tests/support/server_process.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace holdfast::testing {

// A server and the refusals that it is asked for. For one thread.
class ReasonPlace final {
 public:
  explicit ReasonPlace(ServerSettings settings = {}) : server_(folder_, std::move(settings)) {
    Start();
  }

  void Start();
  void Stop();

  ServerProcess& server() { return server_; }
  test::RefusalCases::Stub& sessions() { return *sessions_; }
  test::RefusalCases& cases() { return *cases_; }
  [[nodiscard]] const TestFolder& folder() const { return folder_; }

 private:
  const TestFolder folder_;
  ServerProcess server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<test::RefusalCases::Stub> sessions_;
  std::unique_ptr<test::pb::AdminService::Stub> admin_;
  std::unique_ptr<test::RefusalCases> cases_;
};

// What the places of one test have answered. `store` says what is under each of them.
class ReasonCases {
 public:
  explicit ReasonCases(ServerSettings store = {}) : store_(std::move(store)) {}
  ReasonCases(const ReasonCases&) = delete;
  ReasonCases& operator=(const ReasonCases&) = delete;
  virtual ~ReasonCases() = default;

  // Every refusal that depends on the request alone.
  void Asked();
  // A stream that its client does not read delays the end of a stopping server.
  void Draining();
  // More at once than one worker and a queue of one take.
  void Load();
  // Events of eight days ago.
  void OldEvents();

  // Takes over what was noted.
  void Keep(const test::RefusalCases& cases);
  // Every reason that a client may read was seen.
  void ExpectAllSeen() const;
  // All refusals since the last call, in words.
  std::string TakeText() { return std::exchange(text_, {}); }

 private:
  // On the clock by which events become old.
  virtual void LetEightDaysPass(ReasonPlace& place) = 0;

  const ServerSettings store_;
  std::string text_;
  std::set<Reason> seen_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_REASON_CASES_H_
