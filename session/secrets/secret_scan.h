// The domain's interface to the search for secrets that must not be stored. The server makes the
// scanner from its configuration (server/secrets.h). session/secrets/secret_check.h searches
// commands, SecretStream searches streamed bytes.
#ifndef HOLDFAST_SESSION_SECRETS_SECRET_SCAN_H_
#define HOLDFAST_SESSION_SECRETS_SECRET_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// Any thread may call. A call costs time in proportion to the bytes.
class SecretScanner {
 public:
  SecretScanner() = default;
  SecretScanner(const SecretScanner&) = delete;
  SecretScanner& operator=(const SecretScanner&) = delete;
  virtual ~SecretScanner() = default;

  // The offset at which the first secret in `bytes` begins.
  [[nodiscard]] virtual std::optional<size_t> Find(std::string_view bytes) const = 0;
  // The most bytes that one secret may have; 0: there are none to find.
  [[nodiscard]] virtual size_t LongestBytes() const = 0;
};

// Finds nothing.
const SecretScanner& NoSecrets();

// Looks through bytes that arrive piece by piece; a secret across a border is found like any other.
//
//   SecretStream stream(scanner);
//   if (const auto offset = stream.Feed(chunk)) return SecretLeak("data", *offset);
//
// For one thread. Keeps as many bytes as the longest secret has.
class SecretStream final {
 public:
  // `scanner` must outlive this.
  explicit SecretStream(const SecretScanner& scanner) : scanner_(scanner) {}

  // The offset, counted from the first piece on, of a secret that ends in `piece`. Nothing is
  // promised about pieces behind one in which a secret was found.
  std::optional<uint64_t> Feed(std::string_view piece);

 private:
  const SecretScanner& scanner_;
  std::string tail_;  // the end of what has been fed, where a secret may have begun
  uint64_t fed_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SECRETS_SECRET_SCAN_H_
