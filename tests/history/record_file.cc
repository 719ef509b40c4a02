#include "tests/history/record_file.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>
#include <utility>

namespace holdfast::history {
namespace {

constexpr int kMode = 0600;
constexpr size_t kMethodCount = static_cast<size_t>(Method::kReadSlot) + 1;
constexpr size_t kCauseCount = static_cast<size_t>(Cause::kOther) + 1;
constexpr std::array<const char*, 3> kOutcomes = {"unknown", "ok", "refused"};

std::string Hex(const Digest& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// The words of an answer that are the same for calls and endings.
std::string Text(const Answered& a) {
  return absl::StrCat(a.repeated, " ", a.held, " ", a.complete, " ", static_cast<int>(a.lifecycle),
                      " ", a.revision, " ", a.epoch, " ", a.token, " ", a.turn, " ", a.last_turn,
                      " ", a.messages, " ", a.entry, " ", a.before, " ", a.abandoned_turn, " ",
                      Hex(a.digest), " ", ToText(a.slot));
}

// Reads one line word by word.
class Line final {
 public:
  explicit Line(const std::string& line) : in_(line) {}

  std::string Word() {
    std::string word;
    in_ >> word;
    return word;
  }
  template <typename Number>
  Line& To(Number& number) {
    in_ >> number;
    return *this;
  }
  Line& To(Digest& digest) {
    const std::string word = Word();
    if (word.size() != 2 * kDigestBytes) in_.setstate(std::ios::failbit);
    digest = DigestFrom(absl::HexStringToBytes(word));
    return *this;
  }
  Line& To(Uuid& id) {
    const std::string word = Word();
    id = UuidFrom(word);
    if (ToText(id) != word) in_.setstate(std::ios::failbit);
    return *this;
  }
  Line& To(Answered& a) {
    int lifecycle = 0;
    To(a.repeated).To(a.held).To(a.complete).To(lifecycle).To(a.revision).To(a.epoch);
    To(a.token).To(a.turn).To(a.last_turn).To(a.messages).To(a.entry).To(a.before);
    a.lifecycle = static_cast<Lifecycle>(lifecycle);
    return To(a.abandoned_turn).To(a.digest).To(a.slot);
  }
  // Of an enum, by the names that `name` gives to its `count` values.
  template <typename Enum, typename Names>
  Line& To(Enum& value, size_t count, Names name) {
    const std::string word = Word();
    for (size_t i = 0; i < count; ++i) {
      if (word == name(static_cast<Enum>(i))) {
        value = static_cast<Enum>(i);
        return *this;
      }
    }
    in_.setstate(std::ios::failbit);
    return *this;
  }
  // True when every word was there, and none is left.
  bool Whole() {
    const bool good = !in_.fail();
    std::string rest;
    return good && !(in_ >> rest);
  }

 private:
  std::istringstream in_;
};

// The operations of the lines so far.
class Reader final {
 public:
  // False when the line makes no sense.
  bool Take(const std::string& line) {
    Line words(line);
    const std::string kind = words.Word();
    if (kind == ">") return TakeSent(words);
    if (kind == "<") return TakeReturned(words);
    if (kind == "=") return TakeEnding(words);
    return kind == "#" && TakeLog(words);
  }
  History Done() { return std::move(history_); }

 private:
  bool TakeSent(Line& words) {
    Operation operation;
    Asked& asked = operation.asked;
    size_t items = 0;
    words.To(operation.client).To(operation.number).To(operation.server).To(operation.invoked);
    words.To(asked.method, kMethodCount, [](Method method) { return Name(method); });
    words.To(asked.force).To(asked.begin_next).To(asked.session).To(asked.request);
    words.To(asked.epoch).To(asked.turn).To(asked.first_entry).To(asked.last_entry);
    words.To(asked.expected_revision).To(asked.after).To(asked.ttl_ns).To(items);
    for (size_t i = 0; i < items; ++i) words.To(asked.items.emplace_back());
    const bool fresh =
        index_.try_emplace({operation.client, operation.number}, history_.operations.size()).second;
    history_.operations.push_back(std::move(operation));
    return fresh && words.Whole();
  }
  bool TakeReturned(Line& words) {
    uint32_t client = 0;
    uint64_t number = 0;
    words.To(client).To(number);
    const auto sent = index_.find({client, number});
    if (sent == index_.end()) return false;
    Operation& operation = history_.operations[sent->second];
    Answered& answered = operation.answered;
    words.To(operation.returned);
    words.To(answered.outcome, kOutcomes.size(), [](Outcome outcome) {
      return std::string_view(kOutcomes[static_cast<size_t>(outcome)]);
    });
    words.To(answered.cause, kCauseCount, [](Cause cause) { return Name(cause); });
    return words.To(answered).Whole();
  }
  bool TakeEnding(Line& words) {
    Ending& ending = history_.endings.emplace_back();
    ending.head.outcome = Outcome::kOk;
    words.To(ending.session).To(ending.head).To(ending.messages);
    return words.To(ending.digest).To(ending.slot).Whole();
  }
  bool TakeLog(Line& words) {
    uint32_t session = 0;
    words.To(session);
    if (history_.endings.empty() || history_.endings.back().session != session) return false;
    LogLine& line = history_.endings.back().log.emplace_back();
    words.To(line.seq).To(line.revision).To(line.epoch);
    line.code = words.Word();
    return words.To(line.request).Whole();
  }

  History history_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, size_t> index_;
};

}  // namespace

Recorder::Recorder(const std::string& file)
    : file_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode)) {}

Recorder::~Recorder() {
  if (file_ >= 0) close(file_);
}

bool Recorder::Write(const std::string& line) const {
  return write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

bool Recorder::Sent(const Operation& operation) {
  const Asked& asked = operation.asked;
  std::string line = absl::StrCat(
      "> ", operation.client, " ", operation.number, " ", operation.server, " ", operation.invoked,
      " ", std::string(Name(asked.method)), " ", asked.force, " ", asked.begin_next, " ",
      asked.session, " ", ToText(asked.request), " ", asked.epoch, " ", asked.turn, " ");
  absl::StrAppend(&line, asked.first_entry, " ", asked.last_entry, " ", asked.expected_revision,
                  " ", asked.after, " ", asked.ttl_ns, " ", asked.items.size());
  for (const Digest& item : asked.items) absl::StrAppend(&line, " ", Hex(item));
  return Write(line + "\n");
}

bool Recorder::Returned(const Operation& operation) {
  const Answered& answered = operation.answered;
  return Write(absl::StrCat("< ", operation.client, " ", operation.number, " ", operation.returned,
                            " ", kOutcomes[static_cast<size_t>(answered.outcome)], " ",
                            std::string(Name(answered.cause)), " ", Text(answered), "\n"));
}

bool Recorder::Ended(const Ending& ending) {
  std::string lines =
      absl::StrCat("= ", ending.session, " ", Text(ending.head), " ", ending.messages, " ",
                   Hex(ending.digest), " ", ToText(ending.slot), "\n");
  for (const LogLine& line : ending.log) {
    absl::StrAppend(&lines, "# ", ending.session, " ", line.seq, " ", line.revision, " ");
    absl::StrAppend(&lines, line.epoch, " ", line.code, " ", ToText(line.request), "\n");
  }
  return Write(lines);
}

absl::StatusOr<History> ReadRecord(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return absl::InvalidArgumentError(absl::StrCat("cannot read ", file));
  Reader reader;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (in.eof()) break;  // it has no end: its writer was killed
    if (!reader.Take(line)) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", line));
    }
  }
  return reader.Done();
}

}  // namespace holdfast::history
