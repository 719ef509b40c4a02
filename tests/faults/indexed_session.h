// A session of a store of files over a disk in memory, whose index is rotated, merged and compacted
// within few changes.
#ifndef HOLDFAST_TESTS_FAULTS_INDEXED_SESSION_H_
#define HOLDFAST_TESTS_FAULTS_INDEXED_SESSION_H_

#include "session/change.h"
#include "session/store.h"
#include "session/token.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include "absl/status/statusor.h"
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

class IndexedSession : public ::testing::Test {
 protected:
  // With the session `alpha`.
  void SetUp() override;
  void TearDown() override { store_->Dispose(); }

  void Open();
  void Restart();
  // What the store does beside changes: merges and compactions.
  void Sweep();
  // The session that everything is about from now on.
  void Create(const std::string& session);

  // A refusal is an error here.
  absl::StatusOr<CommitResult> Commit(const Change& change);
  Receipt Must(const Change& change);
  // Changes until a rotation has just come.
  void Rotate();

  [[nodiscard]] const SessionKey& key() const { return changes_->key(); }
  // Names in the session's `state` that begin so.
  std::vector<std::string> Files(const std::string& kind);
  [[nodiscard]] std::string PathOf(const std::string& name) const;
  // Changes one bit of a file.
  void Flip(const std::string& name, size_t at);

  size_t rotate_changes_ = 4;
  size_t inline_entries_ = 0;
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  uint64_t bytes_ = 0;  // that the store was asked to write
  size_t reads_ = 0;    // that it has asked for
  std::function<void(const FileOperation& asked)> before_;
  std::function<bool(const FileOperation& asked)> fails_;  // for lack of space
  std::vector<std::string> notes_;
  std::optional<Changes> changes_;
  std::unique_ptr<SessionStore> store_;
  LeaseToken token_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_FAULTS_INDEXED_SESSION_H_
