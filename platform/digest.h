// SHA-256, the only hash that promises anything: fingerprints, the history's digest, the audit
// chain.
#ifndef HOLDFAST_PLATFORM_DIGEST_H_
#define HOLDFAST_PLATFORM_DIGEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

inline constexpr size_t kDigestBytes = 32;

using Digest = std::array<uint8_t, kDigestBytes>;

// SHA-256 of `bytes`.
Digest Sha256(std::string_view bytes);

// SHA-256 of bytes that come in pieces. Used by one thread at a time.
class Sha256Stream {
 public:
  Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;
  ~Sha256Stream();

  void Add(std::string_view bytes);
  // The digest of everything so far; more may follow.
  [[nodiscard]] Digest Sum() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The digest's bytes as a view; valid as long as `digest` is.
inline std::string_view View(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// A digest from 32 bytes; all zeros when `bytes` has another length.
Digest DigestFrom(std::string_view bytes);

// Compares in a time that does not depend on where they differ.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_DIGEST_H_
