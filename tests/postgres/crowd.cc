#include "tests/postgres/crowd.h"

#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kSaid[] = "said";
constexpr char kRefusedWord[] = "refused";

// Whole lines, from any thread.
class Printer final {
 public:
  void Print(const std::string& line) {
    const absl::MutexLock lock(&mutex_);
    out_ << line << std::endl;
  }

 private:
  absl::Mutex mutex_;
  std::ostream& out_ ABSL_GUARDED_BY(mutex_) = std::cout;
};

// One of the crowd, with its session.
class Member final {
 public:
  Member(WireClient& client, Printer& printer, size_t number, absl::Duration ttl)
      : client_(client),
        printer_(printer),
        number_(number),
        session_(CrowdSession(number)),
        ttl_(ttl) {}

  void TakeTurns(const std::string& name) {
    pb::ResumeSessionRequest resume = test::ForceRequest(session_);
    resume.mutable_lease_ttl()->set_seconds(absl::ToInt64Seconds(ttl_));
    token_ = client_.Must(&Stub::ResumeSession, resume).lease_token();
    for (int count = 1; TakeTurn(absl::StrCat(name, "-", count)); ++count) {
    }
    // The token is worth nothing from now on, whatever it is used for.
    Ask("BeginTurn", &Stub::BeginTurn, test::BeginRequest(session_, token_));
    Ask("AppendJournal", &Stub::AppendJournal, test::AppendRequest(session_, token_, 0, 1));
    Ask("CommitTurn", &Stub::CommitTurn, test::CommitRequest(session_, token_, turn_, "too late"));
    Ask("AbandonTurn", &Stub::AbandonTurn, test::AbandonRequest(session_, token_, turn_));
    Ask("ReleaseLease", &Stub::ReleaseLease, test::ReleaseRequest(session_, token_));
    Ask("CloseSession", &Stub::CloseSession, test::CloseRequest(session_, token_));
    Note("RenewLeases", client_.Renew(session_, token_));
  }

 private:
  // False when it was refused.
  bool TakeTurn(const std::string& text) {
    const auto begun = Ask("BeginTurn", &Stub::BeginTurn, test::BeginRequest(session_, token_));
    if (begun.verdict.reason != "OK") return false;
    turn_ = begun.reply.turn();
    const auto request = test::CommitRequest(session_, token_, turn_, text);
    if (Ask("CommitTurn", &Stub::CommitTurn, request).verdict.reason != "OK") return false;
    printer_.Print(absl::StrCat(number_, " ", kSaid, " ", text));
    return true;
  }
  template <typename Request, typename Reply>
  Answer<Reply> Ask(const char* method, WireClient::Method<Request, Reply> call,
                    const Request& request) {
    Answer<Reply> answer = client_.Ask(call, request);
    if (answer.verdict.reason != "OK" || late_) Note(method, answer.verdict);
    return answer;
  }
  void Note(const char* method, const Verdict& verdict) {
    late_ = true;
    printer_.Print(absl::StrCat(number_, " ", kRefusedWord, " ", method, " ", verdict.reason));
  }

  WireClient& client_;
  Printer& printer_;
  const size_t number_;
  const std::string session_;
  const absl::Duration ttl_;
  std::string token_;
  uint64_t turn_ = 1;  // until it has begun one
  bool late_ = false;  // it was refused once: every answer counts from then on
};

}  // namespace

std::string CrowdSession(size_t number) { return absl::StrCat("crowd-", number); }

size_t CrowdReport::Said() const {
  size_t count = 0;
  for (const auto& texts : said) count += texts.size();
  return count;
}

Crowd::Crowd(const TestFolder& folder, const std::string& address, const std::string& name,
             size_t sessions, absl::Duration ttl)
    : sessions_(sessions),
      out_(folder.File(name + ".out")),
      err_(folder.File(name + ".err")),
      process_({std::filesystem::read_symlink("/proc/self/exe"), kCrowdWord, address, name,
                absl::StrCat(sessions), absl::StrCat(absl::ToInt64Seconds(ttl))},
               out_, err_) {}

CrowdReport Crowd::Report() const {
  CrowdReport report;
  report.said.resize(sessions_);
  report.refused.resize(sessions_);
  std::istringstream lines(ReadText(out_));
  size_t number = 0;
  std::string what;
  // A line that is not whole yet has no end.
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    std::istringstream words(line);
    words >> number >> what >> std::ws;
    auto& texts = what == kSaid ? report.said : report.refused;
    std::getline(words, texts.at(number).emplace_back());
  }
  return report;
}

bool Crowd::Ends() {
  constexpr absl::Duration kPatience = absl::Seconds(20);
  return WaitUntil([this] { return !process_.Running(); }, kPatience);
}

int RunCrowd(const std::vector<std::string>& words) {
  WireClient client(words.at(1));
  Printer printer;
  std::vector<std::jthread> members;
  const size_t sessions = std::stoul(words.at(3));
  const absl::Duration ttl = absl::Seconds(std::stol(words.at(4)));
  for (size_t number = 0; number < sessions; ++number) {
    members.emplace_back(
        [&, number] { Member(client, printer, number, ttl).TakeTurns(words.at(2)); });
  }
  return 0;
}

}  // namespace holdfast::testing
