#include "platform/shared_bytes.h"

#include "absl/base/call_once.h"

#include <utility>

namespace holdfast {

struct SharedBytes::Block {
  explicit Block(std::string bytes_in) : bytes(std::move(bytes_in)) {}

  std::string bytes;
  absl::once_flag digested;
  Digest digest{};
};

SharedBytes::SharedBytes(std::string bytes)
    : block_(bytes.empty() ? nullptr : std::make_shared<Block>(std::move(bytes))) {}

const std::string& SharedBytes::str() const {
  static const std::string kNone;
  return block_ == nullptr ? kNone : block_->bytes;
}

const Digest& SharedBytes::digest() const {
  static const Digest kOfNone = Sha256("");
  if (block_ == nullptr) return kOfNone;
  Block& block = *block_;
  absl::call_once(block.digested, [&block] { block.digest = Sha256(block.bytes); });
  return block.digest;
}

std::string SharedBytes::Take() {
  const std::shared_ptr<Block> block = std::move(block_);
  if (block == nullptr) return {};
  return block.use_count() == 1 ? std::move(block->bytes) : block->bytes;
}

}  // namespace holdfast
