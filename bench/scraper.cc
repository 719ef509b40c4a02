#include "bench/scraper.h"

#include "server/net/descriptor.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <array>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>

namespace holdfast::bench {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);

// The answer of the endpoint; empty when it cannot be reached.
std::string Scrape(uint16_t port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): connect has no other form
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  if (connect(socket.get(), where, sizeof address) != 0) return "";
  constexpr std::string_view kRequest =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (send(socket.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0) return "";
  std::string answer;
  std::array<char, 16384> part{};
  for (ssize_t got = 1; got > 0;) {
    got = recv(socket.get(), part.data(), part.size(), 0);
    if (got > 0) answer.append(part.data(), static_cast<size_t>(got));
  }
  return answer;
}

}  // namespace

Scraper::Scraper(uint16_t port)
    : port_(port), thread_([this](const std::stop_token& stop) {
        absl::Mutex mutex;
        while (!stop.stop_requested()) {
          if (Scrape(port_).find("\nholdfast_build_info") != std::string::npos) ++scrapes_;
          const absl::MutexLock lock(&mutex);
          const auto stopped = [&stop] { return stop.stop_requested(); };
          mutex.AwaitWithTimeout(absl::Condition(&stopped), kInterval);
        }
      }) {}

}  // namespace holdfast::bench
