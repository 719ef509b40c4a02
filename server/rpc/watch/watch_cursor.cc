#include "server/rpc/watch/watch_cursor.h"

#include "platform/encoding.h"
#include "server/rpc/convert/sealed_text.h"
#include "session/guard.h"
#include "session/refusal.h"

#include <optional>

namespace holdfast {
namespace {

constexpr char kCursorField[] = "cursor";
constexpr char kNoCursor[] = "is not a cursor";
constexpr uint64_t kCursorVersion = 1;

std::string BindingOf(const StoreDescription& store, const SessionKey& key) {
  Encoder out;
  out.Text("cursor").Text(store.store.value());
  out.Text(key.tenant.value()).Text(key.session.value());
  return ShortSum(out.bytes());
}

}  // namespace

WatchCursors::WatchCursors(const StoreDescription& store, const SessionKey& key,
                           const SessionUid& uid)
    : bound_to_(BindingOf(store, key)),
      session_(ShortSum(uid.value())),
      incarnation_(store.incarnation.value()) {}

std::string WatchCursors::Make(EventSeq last) const {
  Encoder out;
  out.Number(kCursorVersion).Raw(bound_to_).Raw(session_).Number(incarnation_).Number(last.value());
  return Seal(out.bytes());
}

absl::StatusOr<EventSeq> WatchCursors::Read(const std::string& cursor) const {
  const std::optional<std::string> body = Unseal(cursor);
  if (!body) return InvalidField(kCursorField, kNoCursor);
  Decoder in(*body);
  const uint64_t version = in.Number();
  const std::string bound_to(in.Raw(kShortSumBytes));
  const std::string session(in.Raw(kShortSumBytes));
  const uint64_t incarnation = in.Number();
  const EventSeq last(in.Number());
  if (!in.Done() || version != kCursorVersion) return InvalidField(kCursorField, kNoCursor);
  if (bound_to != bound_to_) {
    return InvalidField(kCursorField, "belongs to another session or another store");
  }
  if (incarnation != incarnation_) return InvalidField(kCursorField, "restored");
  if (session != session_) return AnotherSession().ToStatus();
  // A number has one spelling too.
  if (Make(last) != cursor) return InvalidField(kCursorField, kNoCursor);
  return last;
}

}  // namespace holdfast
