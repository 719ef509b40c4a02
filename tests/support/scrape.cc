#include "tests/support/scrape.h"

#include "tests/support/raw_socket.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include <cstddef>

namespace holdfast::testing {
namespace {

constexpr absl::Duration kAnswerMost = absl::Seconds(30);

}  // namespace

std::string HttpGet(const std::string& address, const std::string& path) {
  RawSocket socket(address, "127.0.0.1");
  if (!socket.connected()) return "";
  socket.Send(
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", address, "\r\nConnection: close\r\n\r\n"));
  std::string answer;
  while (socket.Receive(kAnswerMost, answer)) {
  }
  return answer;
}

Samples Scrape(const std::string& address) {
  const std::string answer = HttpGet(address, "/metrics");
  Samples samples;
  if (!absl::StartsWith(answer, "HTTP/1.1 200 ")) return samples;
  const size_t body = answer.find("\r\n\r\n");
  for (const auto& line : absl::StrSplit(answer.substr(body + 4), '\n')) {
    const std::string text(line);
    const size_t space = text.rfind(' ');
    double value = 0;
    if (text.empty() || text.front() == '#' || space == std::string::npos) continue;
    if (absl::SimpleAtod(text.substr(space + 1), &value)) samples[text.substr(0, space)] = value;
  }
  return samples;
}

std::string MetricNameOf(const std::string& sample) {
  std::string name = sample.substr(0, sample.find('{'));
  for (const char* suffix : {"_bucket", "_count", "_sum"}) {
    if (absl::EndsWith(name, suffix))
      return name.substr(0, name.size() - std::string(suffix).size());
  }
  return name;
}

}  // namespace holdfast::testing
