#include "session/head.h"

#include "platform/encoding.h"

namespace holdfast {

Digest ExtendHistory(const Digest& before, const Message& message) {
  Encoder out;
  out.Raw(View(before)).Text(message.role).Text(message.content_type);
  out.Raw(View(DataDigest(message)));
  return Sha256(out.bytes());
}

}  // namespace holdfast
