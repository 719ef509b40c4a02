// Rows of holdfast.log: what one change said, and the messages that it added, in pieces that fit
// into a third of a page.
//
// `acts` of a change, its pieces one behind the other: the bytes that follow (number), version,
// whether the request was a grant (flag), request record without its token (text, or empty), audit
// record (text, or empty), list of events. Behind that, of a request that wrote items, what became
// of them: the database adds it, and the receipt in the record is without it. `msgs` of a row: how
// many of its bytes belong to a message that began before it (number), and then records of
// messages, each as a text; the last one goes on in the next row.
#ifndef HOLDFAST_STORE_POSTGRES_LOG_ROWS_H_
#define HOLDFAST_STORE_POSTGRES_LOG_ROWS_H_

#include "session/apply.h"
#include "session/ids.h"
#include "session/model.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::pg {

// Three rows of a page have room for the keys of their session and for this.
inline constexpr size_t kLogRowBytes = 2600;

// What a change said.
struct Acts {
  bool granted = false;               // its reply has a token, which is kept with the session
  std::optional<RequestRow> request;  // without it
  std::optional<AuditRecord> audit;
  std::vector<Event> events;
};

// Where a row lies in the log of its session.
struct LogPlace {
  int64_t n = 0;  // the change
  int32_t part = 0;

  [[nodiscard]] LogPlace Next() const { return {.n = n, .part = part + 1}; }
  bool operator==(const LogPlace&) const = default;
};

struct LogRow {
  uint64_t messages = 0;               // of its history that begin before it
  std::string acts;                    // a piece; empty: none
  std::vector<std::string_view> msgs;  // the same, one view behind the other
  size_t msgs_bytes = 0;               // of these
};

// The rows of a change, in the order of their parts. None for one that said nothing and added no
// message. They have views of the change's messages, which must outlive them.
class LogRows {
 public:
  LogRows(const SessionKey& key, const Applied& applied);
  LogRows(LogRows&&) noexcept = default;
  LogRows& operator=(LogRows&&) noexcept = default;
  LogRows(const LogRows&) = delete;
  LogRows& operator=(const LogRows&) = delete;
  ~LogRows() = default;

  [[nodiscard]] const std::vector<LogRow>& rows() const { return rows_; }

 private:
  // What of a message is not in a row yet.
  struct Rest {
    std::string_view begin;
    std::string_view bytes;

    [[nodiscard]] size_t size() const { return begin.size() + bytes.size(); }
  };
  enum class Piece : uint8_t { kBeginning, kFurther };

  void AddActs(std::string_view acts);
  void AddMessage(const Message& message);
  // As much of a message's `rest` as has room.
  void Add(Piece piece, Rest& rest);
  void Begin() { rows_.push_back({.messages = messages_, .acts = {}, .msgs = {}}); }
  // What the last row still takes.
  [[nodiscard]] size_t Room() const;
  // Keeps `bytes`, and answers a view of them.
  std::string_view Own(std::string bytes);

  size_t most_;
  uint64_t messages_;  // of the history, so far
  std::vector<LogRow> rows_;
  std::deque<std::string> own_;  // what the views show beside messages
};

// What the pieces of a change say together; nullopt when they are not what was written.
std::optional<Acts> ReadActs(std::string_view pieces);

// Puts the acts of changes together.
class ActsReader {
 public:
  // Takes the piece that lies at `place`. False when it does not go on where the last one ended.
  bool Take(LogPlace place, std::string_view piece);
  // The acts of the change are whole.
  [[nodiscard]] bool IsWhole() const;
  [[nodiscard]] const std::string& pieces() const { return pieces_; }

 private:
  LogPlace place_;  // of the last piece
  std::string pieces_;
};

// Puts messages together from the rows that they lie in.
class MessageReader {
 public:
  struct Item {
    uint64_t number = 0;
    std::string_view record;  // lives until the next call
  };

  // Takes the row at `place`, before which `messages` messages have begun. False when it does not
  // go on where the last one ended.
  bool Take(LogPlace place, uint64_t messages, std::string_view piece);
  // The next message that is whole, if there is one.
  std::optional<Item> Next();

 private:
  LogPlace place_;  // of the last row
  std::string bytes_;
  size_t position_ = 0;  // in these, of the message `next_`
  uint64_t next_ = 0;    // 0: no row was taken yet
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_LOG_ROWS_H_
