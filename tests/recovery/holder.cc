#include "tests/recovery/holder.h"

#include "session/token.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kHolding[] = "holding ";

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Tries every write with one token and prints how each is answered.
class Tries final {
 public:
  Tries(WireClient& client, std::string session, std::string name, std::string token)
      : client_(client),
        session_(std::move(session)),
        name_(std::move(name)),
        token_(std::move(token)) {}

  void All(uint64_t turn) {
    Try("BeginTurn", &Stub::BeginTurn, test::BeginRequest(session_, token_));
    Try("AppendJournal", &Stub::AppendJournal, test::AppendRequest(session_, token_, turn, 2));
    Try("AppendJournal", &Stub::AppendJournal, test::AppendRequest(session_, token_, 0, 1));
    Try("CommitTurn", &Stub::CommitTurn, test::CommitRequest(session_, token_, turn, "too late"));
    Try("AbandonTurn", &Stub::AbandonTurn, test::AbandonRequest(session_, token_, turn));
    Print("RenewLeases", client_.Renew(session_, token_));
    Try("ReleaseLease", &Stub::ReleaseLease, test::ReleaseRequest(session_, token_));
    pb::CloseSessionRequest close = test::CloseRequest(session_, token_);
    Try("CloseSession", &Stub::CloseSession, close);
    close.set_request_id(test::NewRequestId());
    close.mutable_final_snapshot()->add_messages()->set_data("too late");
    Try("CloseSession", &Stub::CloseSession, close);
    Try("DeleteSession", &Stub::DeleteSession, test::DeleteRequest(session_, token_));
  }

 private:
  template <typename Request, typename Reply>
  void Try(const char* method, WireClient::Method<Request, Reply> call, const Request& request) {
    Print(method, client_.Ask(call, request).verdict);
  }
  void Print(const char* method, const Verdict& verdict) const {
    const auto cause = verdict.facts.find("cause");
    std::cout << name_ << " " << method << " " << verdict.reason << ": "
              << (cause == verdict.facts.end() ? verdict.message : cause->second) << std::endl;
  }

  WireClient& client_;
  const std::string session_;
  const std::string name_;
  const std::string token_;
};

// `token` with the session's present epoch in it.
std::string Forged(WireClient& client, const std::string& session, const std::string& token) {
  LeaseToken forged = LeaseToken::Parse(token).value_or(LeaseToken());
  forged.epoch = Epoch(client.Get(session).lease().epoch());
  return forged.ToText();
}

}  // namespace

std::string Bring(WireClient& client, const std::string& session, const std::string& state) {
  pb::CreateSessionRequest create = test::CreateRequest(session);
  create.mutable_lease_ttl()->set_seconds(absl::ToInt64Seconds(kShortLease));
  const std::string token = client.Must(&Stub::CreateSession, create).lease_token();
  if (state == kFirstTurn) {
    const auto begun = client.Must(&Stub::BeginTurn, test::BeginRequest(session, token));
    client.Must(&Stub::AppendJournal, test::AppendRequest(session, token, begun.turn(), 1));
  }
  if (state != kResumed) return token;
  client.Must(&Stub::ReleaseLease, test::ReleaseRequest(session, token));
  pb::ResumeSessionRequest resume = test::ResumeRequest(session);
  *resume.mutable_lease_ttl() = create.lease_ttl();
  resume.set_holder(create.holder());
  return client.Must(&Stub::ResumeSession, resume).lease_token();
}

Holder::Holder(const TestFolder& folder, const std::string& address, const std::string& session,
               const std::string& state)
    : out_(folder.File(session + ".out")),
      err_(folder.File(session + ".err")),
      process_(
          {std::filesystem::read_symlink("/proc/self/exe"), kHolderWord, address, session, state},
          out_, err_) {}

std::string Holder::AwaitToken() {
  std::string text;
  WaitUntil([&] {
    text = ReadText(out_);
    return text.find('\n') != std::string::npos || !process_.Running();
  });
  if (!text.starts_with(kHolding)) return "";
  return LinesOf(text).front().substr(std::string(kHolding).size());
}

void Holder::Kill() {
  Signal(SIGKILL);
  process_.Wait();
}

std::vector<std::string> Holder::AwaitAnswers() {
  process_.Wait();
  std::vector<std::string> lines = LinesOf(ReadText(out_));
  if (!lines.empty()) lines.erase(lines.begin());  // what AwaitToken waits for
  return lines;
}

int RunHolder(const std::vector<std::string>& words) {
  const std::string& session = words.at(2);
  WireClient client(words.at(1));
  const std::string token = Bring(client, session, words.at(3));
  if (token.empty()) return 1;
  std::cout << kHolding << token << std::endl;
  const Epoch epoch = LeaseToken::Parse(token).value_or(LeaseToken()).epoch;
  while (Epoch(client.Get(session).lease().epoch()) == epoch) client.Renew(session, token);
  const uint64_t turn = client.Get(session).last_turn();
  Tries(client, session, "old", token).All(turn);
  Tries(client, session, "forged", Forged(client, session, token)).All(turn);
  return 0;
}

}  // namespace holdfast::testing
