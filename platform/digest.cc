#include "platform/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

namespace holdfast {
namespace {

// Fetched once: a lookup in the library's lists takes longer than to hash a kilobyte.
const EVP_MD* Algorithm() {
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kAlgorithm;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

}  // namespace

Digest Sha256(std::string_view bytes) {
  thread_local Context context(EVP_MD_CTX_new());
  EVP_DigestInit_ex2(context.get(), Algorithm(), nullptr);
  EVP_DigestUpdate(context.get(), bytes.data(), bytes.size());
  Digest digest{};
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return digest;
}

struct Sha256Stream::State {
  const Context context{EVP_MD_CTX_new()};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex2(state_->context.get(), Algorithm(), nullptr);
}
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

Digest Sha256Stream::Sum() const {
  const State so_far;
  EVP_MD_CTX_copy_ex(so_far.context.get(), state_->context.get());
  Digest digest{};
  EVP_DigestFinal_ex(so_far.context.get(), digest.data(), nullptr);
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
