// Copies of one request over connections of their own, sent at once.
#ifndef HOLDFAST_TESTS_SUPPORT_TWINS_H_
#define HOLDFAST_TESTS_SUPPORT_TWINS_H_

#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <array>
#include <barrier>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {

inline constexpr int kTwins = 8;

// A reply as the text that every copy of its request must be answered with.
template <typename Reply>
std::string Said(Reply reply) {
  reply.clear_repeated();
  if constexpr (requires { reply.mutable_session(); }) {
    if (reply.has_session()) reply.mutable_session()->mutable_lease()->clear_expires_in();
  }
  return reply.DebugString();
}

// Sends `request` eight times at once, to `addresses` in turn, and does `meanwhile`. One copy has
// acted and all answers say the same: the reply that did is returned.
template <typename Request, typename Reply>
Reply SendByEight(
    const std::vector<std::string>& addresses, WireClient::Method<Request, Reply> method,
    const Request& request, const std::function<void()>& meanwhile = [] {}) {
  std::array<Answer<Reply>, kTwins> answers;
  std::vector<std::thread> twins;
  std::barrier together(kTwins + 1);
  for (int i = 0; i < kTwins; ++i) {
    twins.emplace_back([&, i] {
      WireClient twin(addresses[i % addresses.size()]);
      twin.Ask(&WireClient::Stub::GetSession, pb::GetSessionRequest());  // connects
      together.arrive_and_wait();
      answers[i] = twin.Ask(method, request);
    });
  }
  together.arrive_and_wait();
  meanwhile();
  for (std::thread& twin : twins) twin.join();
  std::set<std::string> said;
  int acted = 0;
  Reply reply;
  for (const Answer<Reply>& answer : answers) {
    EXPECT_EQ(answer.verdict.reason, "OK") << answer.verdict.message;
    if (!answer.reply.repeated()) {
      ++acted;
      reply = answer.reply;
    }
    said.insert(Said(answer.reply));
  }
  EXPECT_EQ(acted, 1);
  EXPECT_EQ(said.size(), 1) << "different replies:\n" << *said.begin() << *said.rbegin();
  return reply;
}

// One more copy of `request`, by `client`, is answered with `said` and changes nothing in
// `session`.
template <typename Request, typename Reply>
void ExpectNoEffect(WireClient& client, const std::string& session,
                    WireClient::Method<Request, Reply> method, const Request& request,
                    const std::string& said) {
  const std::string before = client.Everything(session);
  const Reply again = client.Must(method, request);
  EXPECT_TRUE(again.repeated());
  EXPECT_EQ(Said(again), said);
  EXPECT_EQ(client.Everything(session), before);
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_TWINS_H_
