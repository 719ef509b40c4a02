// A descriptor that is closed with its owner.
#ifndef HOLDFAST_SERVER_NET_DESCRIPTOR_H_
#define HOLDFAST_SERVER_NET_DESCRIPTOR_H_

#include <unistd.h>
#include <utility>

namespace holdfast {

class Descriptor final {
 public:
  Descriptor() = default;
  // Owns `fd`; a negative one is none.
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }
  ~Descriptor() { Close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  // Gives the descriptor away.
  int Release() { return std::exchange(fd_, -1); }

 private:
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  int fd_ = -1;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_DESCRIPTOR_H_
