// A store with each kind of damage, asked by every method: what is damaged is refused by the calls
// that need it, and every other call is answered as by the whole store.
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "store-fs/session_state.h"
#include "tests/faults/session_picture.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/sealed_items.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kDamagedRotateChanges = 8;
// What each damaged thing is changed in: one byte of it.
constexpr char kFlip = 0x10;

struct Row {
  std::string name;
  std::string file;     // in the directory of "alpha", or "/" and in the root
  std::string around;   // text in the file; the byte behind it is changed
  std::string refused;  // the calls that are refused, each a part of its name; "" for none
  std::string reason = "DAMAGED";
  std::string writes = "OK";  // what a change of alpha is answered
};

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

std::string RowName(const ::testing::TestParamInfo<Row>& tested) { return tested.param.name; }

// Everything of alpha.
constexpr char kAllOfAlpha[] = "alpha ";

const Row kRows[] = {
    {.name = "AMessage",
     .file = "state/log.1",
     .around = "question 0",
     .refused = "alpha messages behind 0"},
    {.name = "ASlot",
     .file = "state/log.1",
     .around = "scratched",
     .refused = "alpha slot scratch"},
    {.name = "AnEvent",
     .file = "state/log.1",
     .around = "SessionCreated",
     .refused = "alpha events behind 0"},
    {.name = "AnEntry",
     .file = "state/log.1",
     .around = "thinking 0",
     .refused = "alpha entries behind 1"},
    {.name = "AnAuditRecord",
     .file = "state/log.1",
     .around = "audited 0",
     .refused = "alpha audit behind 0"},
    {.name = "AReply", .file = "state/log.1", .around = "$request", .refused = "alpha reply $"},
    {.name = "AnUpload", .file = "$upload", .around = "streamed", .refused = "alpha staged "},
    {.name = "TheHeadFile",
     .file = "state/head.1",
     .around = "scratch",
     .refused = kAllOfAlpha,
     .writes = "DAMAGED"},
    {.name = "TheManifest",
     .file = "manifest.json",
     .around = "session_uid",
     .refused = kAllOfAlpha,
     .reason = "MANIFEST_DRIFT",
     .writes = "MANIFEST_DRIFT"},
    {.name = "TheJournal",
     .file = "journal.log",
     .around = "late title",
     .refused = kAllOfAlpha,
     .writes = "DAMAGED"},
    {.name = "AnIndexRow", .file = "/index", .around = "alpha", .refused = ""},
    {.name = "AWatermark", .file = "/watermarks", .around = "HWM1", .refused = ""},
};

class DamagedParts : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    auto store = Open();
    ASSERT_NE(store, nullptr);
    for (const char* name : {"alpha", "beta"}) Live(*store, name);
    ASSERT_TRUE(store->Deactivate().ok());
    store->Dispose();
    whole_ = LookAt();
  }

  std::unique_ptr<SessionStore> Open() {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = kDamagedRotateChanges;
    options.wrap_files = OnDisk(disk_);
    auto store = fs::MakeFsStore(std::move(options), clock_, random_);
    opened_ = store->Init();
    if (opened_.ok()) return store;
    store->Dispose();
    return nullptr;
  }

  // Read twice, so that what one call has found out does not change what another says.
  Picture LookAt() {
    MemoryDisk before = disk_.After(CutKind::kKilled);
    const auto store = Open();
    EXPECT_TRUE(opened_.ok()) << opened_;
    if (store == nullptr) return {};
    Picture picture = PictureOf(*store, subjects_);
    EXPECT_EQ(PictureOf(*store, subjects_), picture);
    store->Dispose();
    disk_ = std::move(before);
    return picture;
  }

  void Live(SessionStore& store, const std::string& name) {
    Subject subject{.key = Key(name), .requests = {}};
    Changes changes(subject.key, random_);
    const auto act = [&](const Change& change) {
      if (change.request) subject.requests.push_back(change.request->id);
      const auto result = store.Commit(change);
      EXPECT_TRUE(result.ok() && result->refusal.ok()) << result.status();
      return result.ok() ? result->receipt : Receipt();
    };
    Change create = changes.Create();
    create.audit = Audited(0);
    create.events = {{.name = "SessionCreated", .payload = {}, .given = {}}};
    const LeaseToken token = *LeaseToken::Parse(act(create).token);
    for (int round = 0; round < 2; ++round) {
      const std::string number = std::to_string(round);
      const TurnNumber turn = act(changes.Begin(token)).turn;
      act(changes.Append(token, turn, {Note(turn, 1, "planning " + number)}));
      act(changes.Append(token, turn, {Note(turn, 2, "thinking " + number + "...")}));
      Change commit = changes.CommitTurn(token, turn);
      commit.messages = {Text("question " + number + "?"), Text("answer " + number)};
      commit.slots = {MakeSlot("plan", "bytes of the plan " + number), MakeSlot("memory", number)};
      if (round == 0) commit.slots.push_back(MakeSlot("scratch", "scratched 0"));
      commit.audit = Audited(round + 1);
      commit.events = {{.name = "SessionPersisted", .payload = {}, .given = {}}};
      if (round == 0) Stream(store, commit, subject);
      act(commit);
    }
    // Behind the rotation, in the journal.
    act(changes.Update({{"title", "a late title of " + name}}));
    subjects_.push_back(std::move(subject));
  }

  static AuditDraft Audited(int number) {
    return {.audit_class = "test", .code = "audited " + std::to_string(number) + "!", .data = {}};
  }

  // The slot "memory" lies in an upload.
  void Stream(SessionStore& store, Change& change, Subject& subject) {
    const std::string bytes = "streamed bytes";
    const UploadId id = *UploadId::Parse(UuidText(random_.Bytes(16), 4));
    EXPECT_TRUE(store.StageUpload(change.key, id, 0, bytes).ok());
    Slot slot = MakeSlot("streamed", "");
    slot.staged =
        StagedBytes{.upload = id, .offset = 0, .size = bytes.size(), .digest = Sha256(bytes)};
    subject.staged.insert(*slot.staged);
    if (subject.key == Key("alpha")) upload_ = "state/upload." + id.value();
    change.slots.push_back(slot);
    change.upload = UploadLink{.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
  }

  // Changes the byte that follows the text, in the file that the row names.
  void Hurt(const Row& row) {
    const std::string name = row.file == "$upload" ? upload_ : row.file;
    const std::string path =
        name.front() == '/' ? name.substr(1) : fs::DirectoryOf(Key("alpha")) + "/" + name;
    std::string bytes = disk_.Read(path);
    const bool of_reply = row.around == "$request";
    const std::string text = of_reply ? RequestInSegment().value() : row.around;
    const size_t at = bytes.find(text, of_reply ? PlaceOfReply() : 0);
    ASSERT_NE(at, std::string::npos) << path << " does not hold " << text;
    char& byte = bytes.at(at + text.size());
    byte = static_cast<char>(byte ^ kFlip);
    disk_.Write(path, bytes);
  }

  // A request whose reply is in the sealed log, and the offset of the reply.
  [[nodiscard]] const RequestId& RequestInSegment() const { return subjects_[0].requests[2]; }
  uint64_t PlaceOfReply() {
    return SealedItems(*disk_.Open(), Key("alpha"), &fs::SessionState::request_log).at(2).offset;
  }

  const Picture& whole() const { return whole_; }
  [[nodiscard]] const absl::Status& opened() const { return opened_; }
  Changes NewChanges(const std::string& name) { return {Key(name), random_}; }
  MemoryDisk& disk() { return disk_; }
  FakeClock& clock() { return clock_; }

 private:
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  absl::Status opened_;
  std::vector<Subject> subjects_;
  std::string upload_;
  Picture whole_;
};

TEST_P(DamagedParts, FailsTheCallsThatNeedItAndNoOther) {
  const Row& row = GetParam();
  ASSERT_NO_FATAL_FAILURE(Hurt(row));
  std::string refused = row.refused;
  if (refused.ends_with('$')) refused.replace(refused.size() - 1, 1, RequestInSegment().value());
  const Picture found = LookAt();
  size_t seen = 0;
  for (const auto& [call, answer] : whole()) {
    const auto now = found.find(call);
    const bool expected = refused.ends_with(' ') ? call.starts_with(refused) : call == refused;
    if (now == found.end()) {
      // Slots are not listed one by one when the session is not read at all.
      EXPECT_TRUE(expected && refused == kAllOfAlpha) << call;
      continue;
    }
    EXPECT_EQ(now->second, expected ? "! " + row.reason : answer) << call;
    seen += expected ? 1 : 0;
  }
  EXPECT_EQ(seen > 0, !refused.empty());
}

TEST_P(DamagedParts, LeavesTheOthersWritableAndTheListingWhole) {
  const Row& row = GetParam();
  ASSERT_NO_FATAL_FAILURE(Hurt(row));
  const auto store = Open();
  ASSERT_TRUE(opened().ok()) << opened();
  ASSERT_TRUE(store->Activate().ok());
  const auto touch = [&](const std::string& name) {
    const auto result = store->Commit(NewChanges(name).Update({{"title", "touched"}}));
    return ReasonNameOf(result.ok() ? result->refusal : result.status());
  };
  EXPECT_EQ(touch("alpha"), row.writes);
  EXPECT_EQ(touch("beta"), "OK");
  absl::StatusOr<ListPage> page;
  ASSERT_TRUE(testing::WaitUntil([&] {
    page = store->List({.tenant = Key("alpha").tenant, .limit = 10});
    return page.ok() && page->complete;
  })) << page.status();
  ASSERT_EQ(page->rows.size(), 2U);
  for (const SessionRow& listed : page->rows) {
    const bool marked = listed.condition == SessionRow::Condition::kDamaged;
    EXPECT_EQ(marked, listed.id == Key("alpha").session && row.writes != "OK") << listed.id.value();
  }
  // Attributes and slots are read of the sessions themselves.
  page = store->List({.tenant = Key("alpha").tenant,
                      .limit = 10,
                      .attributes = {"title"},
                      .owners = {"memory", kStoreSlotOwner}});
  ASSERT_EQ(ReasonNameOf(page.status()), "OK");
  ASSERT_EQ(page->rows.size(), 2U);
  for (const SessionRow& listed : page->rows) {
    const bool is_ok = listed.condition == SessionRow::Condition::kOk;
    EXPECT_EQ(is_ok, listed.id == Key("beta").session || row.writes == "OK") << listed.id.value();
    EXPECT_EQ(listed.attributes.contains("title"), is_ok) << listed.id.value();
    EXPECT_EQ(!listed.slots.empty(), is_ok) << listed.id.value();
  }
  EXPECT_TRUE(store->Deactivate().ok());
  store->Dispose();
}

INSTANTIATE_TEST_SUITE_P(Of, DamagedParts, ::testing::ValuesIn(kRows), RowName);

// The two files without which nothing may be served: the whole store refuses, in words.
class DamagedRoot : public DamagedParts {};

TEST_P(DamagedRoot, IsNotServed) {
  {
    const auto store = Open();
    clock().Advance(absl::Minutes(2));
    ASSERT_TRUE(store->Commit(NewChanges("beta").Delete()).ok());
    ASSERT_TRUE(store->Deactivate().ok());
    store->Dispose();
  }
  const Row& row = GetParam();
  ASSERT_NO_FATAL_FAILURE(Hurt(row));
  EXPECT_EQ(Open(), nullptr);
  EXPECT_TRUE(Is(opened(), Reason::kStoreUnavailable));
  EXPECT_NE(opened().message().find(row.reason), std::string::npos) << opened().message();
}

// A log of deletes that ends before what was acknowledged: the deleted session must not come back.
TEST_P(DamagedRoot, IsNotServedCutOff) {
  {
    const auto store = Open();
    clock().Advance(absl::Minutes(2));
    ASSERT_TRUE(store->Commit(NewChanges("beta").Delete()).ok());
    store->Dispose();
  }
  const Row& row = GetParam();
  const std::string path = row.file.substr(1);
  const std::string whole = disk().Read(path);
  for (size_t left = 0; left < whole.size(); left += 17) {
    disk().Write(path, whole.substr(0, left));
    EXPECT_EQ(Open(), nullptr) << left;
    EXPECT_TRUE(Is(opened(), Reason::kStoreUnavailable)) << left;
  }
}

const Row kRootRows[] = {
    {.name = "TheTombstones",
     .file = "/tombstones.log",
     .around = "beta",
     .reason = "tombstones.log is damaged"},
    {.name = "TheStoreFile",
     .file = "/STORE",
     .around = "time_us\": ",
     .reason = "STORE file is damaged"},
};

INSTANTIATE_TEST_SUITE_P(By, DamagedRoot, ::testing::ValuesIn(kRootRows), RowName);

}  // namespace
}  // namespace holdfast::test
