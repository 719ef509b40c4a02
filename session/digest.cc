#include "session/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>

namespace holdfast {

Digest Sha256(std::string_view bytes) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

struct Sha256Stream::State {
  State() : context(EVP_MD_CTX_new()) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
  EVP_MD_CTX* const context;
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr);
}
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

Digest Sha256Stream::Sum() const {
  const State so_far;
  EVP_MD_CTX_copy_ex(so_far.context, state_->context);
  Digest digest{};
  EVP_DigestFinal_ex(so_far.context, digest.data(), nullptr);
  return digest;
}

Digest DigestFrom(std::string_view bytes) {
  Digest digest{};
  if (bytes.size() == digest.size()) std::ranges::copy(bytes, digest.begin());
  return digest;
}

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace holdfast
