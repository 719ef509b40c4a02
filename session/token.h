// The lease token: proof of one grant. Its text is opaque to clients.
#ifndef HOLDFAST_SESSION_TOKEN_H_
#define HOLDFAST_SESSION_TOKEN_H_

#include "session/ids.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

inline constexpr size_t kSecretBytes = 16;

// storeId, incarnation, session_uid, epoch and a 128-bit secret.
struct LeaseToken {
  StoreId store;
  Incarnation incarnation;
  SessionUid uid;
  Epoch epoch;
  std::string secret;

  // The text that a client keeps. Never logged, never in an error.
  [[nodiscard]] std::string ToText() const;
  // The token behind `text`, or nullopt when no server ever made such a text.
  static std::optional<LeaseToken> Parse(std::string_view text);
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_TOKEN_H_
