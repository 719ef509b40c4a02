#include "tests/support/postgres_gate.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace holdfast::testing {
namespace {

constexpr char kSocket[] = "/.s.PGSQL.5432";
constexpr int kBacklog = 128;

sockaddr_un AddressIn(const std::string& directory) {
  const std::string path = directory + kSocket;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  EXPECT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* Plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // as the system's calls want it
}

// As poll wants it: rounded up, or for ever.
int MillisecondsUntil(absl::Time due, absl::Time now) {
  if (due == absl::InfiniteFuture()) return -1;
  return static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(due - now, absl::Milliseconds(1))));
}

}  // namespace

// One direction each: what was read here and is to be written there.
class PostgresGate::Pair {
 public:
  // `number` counts connections from 0, in the order in which they were taken.
  Pair(size_t number, int client, int server)
      : number_(number), client_{.socket = client, .out = {}}, server_{.socket = server} {}
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    close(client_.socket);
    close(server_.socket);
  }

  [[nodiscard]] size_t number() const { return number_; }

  // What to wait for: both sockets, reading where nothing waits to be written.
  std::array<pollfd, 2> Wanted(absl::Time now) const {
    return {WantedOf(client_, server_, now), WantedOf(server_, client_, now)};
  }
  // When something that is held may pass; the infinite future when nothing is.
  absl::Time Due() const { return std::min(DueOf(client_), DueOf(server_)); }
  // Carries what can be carried; false when one of the two has ended.
  bool Carry(const Pace& pace) {
    return Move(client_, server_, pace) && Move(server_, client_, pace);
  }

 private:
  struct End {
    int socket;
    std::string out;                        // to be written here
    absl::Time due = absl::InfinitePast();  // but not before
  };

  static absl::Time DueOf(const End& end) {
    return end.out.empty() ? absl::InfiniteFuture() : end.due;
  }

  static pollfd WantedOf(const End& end, const End& other, absl::Time now) {
    const bool writes = !end.out.empty() && end.due <= now;
    const int events = (other.out.empty() ? POLLIN : 0) | (writes ? POLLOUT : 0);
    // poll would report the hang-up of a socket without requested events at every call.
    return {
        .fd = events == 0 ? -1 : end.socket, .events = static_cast<int16_t>(events), .revents = 0};
  }

  static bool Move(const End& from, End& to, const Pace& pace) {
    if (to.out.empty()) {
      std::string bytes(pace.piece, '\0');
      const ssize_t count = recv(from.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (count > 0) to.out.assign(bytes.data(), static_cast<size_t>(count));
      to.due = absl::Now() + pace.delay;
    }
    if (to.out.empty() || to.due > absl::Now()) return true;
    const ssize_t sent = send(to.socket, to.out.data(), to.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    to.out.erase(0, static_cast<size_t>(sent));
    return true;
  }

  size_t number_;
  End client_;
  End server_;
};

PostgresGate::PostgresGate(std::string to)
    : to_(std::move(to)),
      listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  const sockaddr_un address = AddressIn(directory());
  EXPECT_EQ(bind(listener_, Plain(address), sizeof address), 0) << std::strerror(errno);
  EXPECT_EQ(listen(listener_, kBacklog), 0) << std::strerror(errno);
  thread_ = std::thread([this] { Run(); });
}

PostgresGate::~PostgresGate() {
  {
    const absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  Wake();
  thread_.join();
  close(listener_);
  close(wake_);
}

void PostgresGate::Hold() { Turn(Mode::kHeld); }
void PostgresGate::Slow(Pace pace) { Turn(Mode::kOpen, pace); }
void PostgresGate::Open() { Turn(Mode::kOpen); }

void PostgresGate::Refuse() {
  Turn(Mode::kRefusing);
  Cut();
}

void PostgresGate::Cut() {
  const absl::MutexLock lock(&mutex_);
  pairs_.clear();
  Wake();
}

size_t PostgresGate::taken() const {
  const absl::MutexLock lock(&mutex_);
  return taken_;
}

bool PostgresGate::HaveEnded(size_t count) const {
  const absl::MutexLock lock(&mutex_);
  return pairs_.empty() || pairs_.front()->number() >= count;
}

void PostgresGate::Turn(Mode mode, Pace pace) {
  const absl::MutexLock lock(&mutex_);
  mode_ = mode;
  pace_ = pace;
  Wake();
}

void PostgresGate::Wake() const {
  const uint64_t one = 1;
  EXPECT_EQ(write(wake_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
}

void PostgresGate::Run() {
  while (Round()) {
  }
}

bool PostgresGate::Round() {
  std::vector<pollfd> wanted = {{.fd = wake_, .events = POLLIN, .revents = 0},
                                {.fd = listener_, .events = POLLIN, .revents = 0}};
  const absl::Time now = absl::Now();
  absl::Time due = absl::InfiniteFuture();
  {
    const absl::MutexLock lock(&mutex_);
    if (ended_) return false;
    for (const auto& pair : pairs_) {
      if (mode_ != Mode::kOpen) break;
      for (const pollfd& end : pair->Wanted(now)) wanted.push_back(end);
      if (pair->Due() > now) due = std::min(due, pair->Due());
    }
  }
  // A socket that is closed meanwhile is at worst another one's by now: one round for nothing.
  poll(wanted.data(), wanted.size(), MillisecondsUntil(due, now));
  const absl::MutexLock lock(&mutex_);
  if (wanted[0].revents != 0) {
    uint64_t count = 0;
    EXPECT_EQ(read(wake_, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  }
  if (wanted[1].revents != 0) Take();
  if (mode_ == Mode::kOpen)
    std::erase_if(pairs_, [&](const auto& pair) { return !pair->Carry(pace_); });
  return true;
}

void PostgresGate::Take() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressIn(to_);
  const bool there = connect(server, Plain(address), sizeof address) == 0;
  if (mode_ == Mode::kRefusing || !there) {
    close(client);
    close(server);
    return;
  }
  pairs_.push_back(std::make_unique<Pair>(taken_++, client, server));
}

}  // namespace holdfast::testing
