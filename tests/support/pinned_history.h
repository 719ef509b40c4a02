// Random changes of one session with checkpoints, and a model that copies: what is kept or pinned
// is read as it was, and nothing else is.
#ifndef HOLDFAST_TESTS_SUPPORT_PINNED_HISTORY_H_
#define HOLDFAST_TESTS_SUPPORT_PINNED_HISTORY_H_

#include "platform/digest.h"
#include "session/model.h"
#include "session/store.h"
#include "session/token.h"
#include "tests/support/changes.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

// Used by one thread; each change must be applied.
class PinnedHistory {
 public:
  // `changes` makes those of a session that was just created, and that `token` may write to.
  PinnedHistory(uint64_t seed, Changes& changes, LeaseToken token)
      : numbers_(seed), changes_(changes), token_(std::move(token)) {}

  // Takes note of the snapshot that the session was created with.
  void Begin(SessionStore& store);
  // One change: a write, a restore, a checkpoint, or the end of one.
  void Step(SessionStore& store);
  // Compares what is read with the model: of each snapshot that is kept or pinned, and of some that
  // are not.
  void Check(SessionStore& store);

  uint64_t Below(uint64_t end) { return numbers_() % end; }
  [[nodiscard]] size_t pinned() const { return pinned_.size(); }
  // Pinned snapshots that were restored, or read, when they were older than the newest.
  [[nodiscard]] size_t restored() const { return restored_; }

 private:
  struct Picture {
    std::vector<std::string> messages;
    std::map<std::string, std::string> slots;
    Digest digest{};
    bool operator==(const Picture&) const = default;
  };
  using Pins = std::map<Revision, std::set<CheckpointKind>>;

  Receipt Apply(SessionStore& store, const Change& change);
  Head Loaded(SessionStore& store);
  // Makes the current state the picture of `revision`.
  void Remember(Revision revision) { pictures_[revision] = now_; }
  void Write(SessionStore& store);
  void Restore(SessionStore& store);
  void Pin(SessionStore& store);
  void Unpin(SessionStore& store);
  // Makes `change` pin the last snapshot before it, of some kind of the server's own, or not.
  void MayPinPrevious(SessionStore& store, Change& change);
  std::vector<Message> AnyMessages();
  void ReadAt(SessionStore& store, Revision revision);

  std::mt19937_64 numbers_;
  Changes& changes_;
  LeaseToken token_;
  Picture now_;
  std::map<Revision, Picture> pictures_;  // of every snapshot there was
  Pins pinned_;
  std::map<CheckpointKind, std::deque<Revision>> own_;  // of the server's own kinds, oldest first
  uint64_t words_ = 0;
  size_t restored_ = 0;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_PINNED_HISTORY_H_
