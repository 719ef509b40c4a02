// An audit chain that was changed on the disk: the check names the first bad record. The chain
// finds it where all checksums of the files were forged too, and the checksums find it otherwise.
#include "platform/encoding.h"
#include "session/refusal.h"
#include "session/sessions.h"
#include "store-fs/change_record.h"
#include "store-fs/crc32c.h"
#include "store-fs/frame.h"
#include "store-fs/fs_store.h"
#include "store-fs/layout.h"
#include "store-fs/manifest.h"
#include "store-fs/recovery.h"
#include "store-fs/segment.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/sealed_items.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {
namespace {

using Records = std::vector<std::string>;  // encoded, in the order of the chain

constexpr size_t kRecords = 7;
constexpr char kSound[] = "sound";

struct Meddling {
  std::string name;
  std::function<void(Records&, size_t at)> act;  // `at` counts from 0
  size_t bad_behind = 0;                         // where the first bad one is, from `at` on
};

void ChangeRecord(Records& records, size_t at) {
  std::string& record = records[at];
  const size_t place = record.find("SessionLifecycle");
  ASSERT_NE(place, std::string::npos);
  record[place] = 'X';
}

const std::vector<Meddling>& Meddlings() {
  static const std::vector<Meddling> kAll = {
      {"changed", ChangeRecord, 0},
      {"deleted", [](Records& records, size_t at) { records.erase(records.begin() + at); }, 0},
      {"swapped",
       [](Records& records, size_t at) { std::swap(records[at], records[(at + 1) % kRecords]); },
       0},
      {"inserted",
       [](Records& records, size_t at) {
         const std::string copy = records[at];
         records.insert(records.begin() + at, copy);
       },
       1},
      {"cut", [](Records& records, size_t at) { records.resize(at); }, 0}};
  return kAll;
}

class AuditOnDisk : public ::testing::Test {
 protected:
  // A session of seven audit records, all in a segment or all in the journal.
  void Fill(size_t rotate_changes) {
    rotate_changes_ = rotate_changes;
    const auto store = Open();
    Changes changes(key_, random_);
    const LeaseToken token = *LeaseToken::Parse(store->Commit(changes.Create())->receipt.token);
    for (int turn = 1; turn <= 3; ++turn) {
      const TurnNumber number = store->Commit(changes.Begin(token))->receipt.turn;
      ASSERT_TRUE(store->Commit(changes.CommitTurn(token, number)).ok());
    }
    store->Dispose();
    ASSERT_EQ(Verdict(), kSound);
  }

  std::unique_ptr<SessionStore> Open() {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.rotate_changes = rotate_changes_;
    options.wrap_files = OnDisk(disk_);
    auto store = fs::MakeFsStore(std::move(options), clock_, random_);
    EXPECT_TRUE(store->Init().ok());
    return store;
  }

  // "sound", the number of the first bad record, or the reason of a refusal.
  std::string Verdict() {
    const auto store = Open();
    Sessions sessions(*store, random_);
    const Caller caller{.tenant = key_.tenant, .trace = {}, .span_id = {}};
    const auto verdict =
        sessions.VerifyAudit(caller, {.id = key_.session}, [] { return absl::OkStatus(); });
    store->Dispose();
    if (!verdict.ok()) return std::string(RowOf(RefusalOf(verdict.status()).reason()).name);
    return verdict->sound() ? kSound : std::to_string(verdict->records + 1);
  }

  [[nodiscard]] std::string PathOf(const std::string& name) const {
    return fs::DirectoryOf(key_) + "/" + name;
  }

  // The segment's items, and the segment, head file and manifest made to fit again.
  void ForgeSegment(const std::function<void(Records&)>& act) {
    const StoreId store = *StoreId::Parse(StoreOf());
    fs::Manifest manifest = *fs::DecodeManifest(disk_.Read(PathOf("manifest.json")), key_, store);
    fs::SessionState state = *fs::DecodeSessionState(disk_.Read(PathOf("state/head.1")));
    std::string log = disk_.Read(PathOf("state/log.1"));
    Records records;
    for (const ItemPlace& place : AuditPlaces()) {
      records.push_back(log.substr(place.offset, place.size));
    }
    ASSERT_EQ(records.size(), kRecords);
    act(records);
    // Behind the sealed journal, with places behind those that there are.
    std::vector<fs::Extent> places;
    for (const std::string& record : records) {
      places.push_back(
          {.file = 1, .offset = log.size(), .size = record.size(), .crc = fs::Crc32c(record)});
      log += record;
    }
    fs::IndexBuilder builder;
    builder.Add(places);
    std::string index = disk_.Read(PathOf("state/index.1"));
    fs::SegmentInfo& info = state.audits.segments.at(0);
    info.index = index.size();
    info.count = records.size();
    state.audits.next = info.first + info.count;
    if (info.count == 0) state.audits.segments.clear();
    disk_.Write(PathOf("state/log.1"), log);
    disk_.Write(PathOf("state/index.1"), index + builder.bytes());
    const std::string head = fs::EncodeSessionState(state);
    manifest.head_digest = Sha256(head);
    disk_.Write(PathOf("state/head.1"), head);
    disk_.Write(PathOf("manifest.json"), fs::EncodeManifest(manifest, state.head));
  }

  std::vector<ItemPlace> AuditPlaces() {
    return SealedItems(*disk_.Open(), key_, &fs::SessionState::audits);
  }

  std::string StoreOf() {
    const auto store = Open();
    const std::string id = store->Describe().store.value();
    store->Dispose();
    return id;
  }

  // The journal's audit records, one to a change, and every frame made to fit again.
  void ForgeJournal(const std::function<void(Records&)>& act) {
    const std::string journal = disk_.Read(PathOf("journal.log"));
    std::vector<fs::Frame> frames;
    Records records;
    for (uint64_t at = 0;;) {
      const fs::FrameRead read = fs::ReadFrame(journal, at, std::nullopt);
      if (read.state != fs::FrameState::kValid) break;
      frames.push_back(read.frame);
      if (read.frame.head.type == fs::FrameType::kCommit) {
        records.push_back(AuditIn(read.frame.payload));
      }
      at += read.frame.size;
    }
    ASSERT_EQ(records.size(), kRecords);
    act(records);
    records.resize(kRecords);  // what is missing is empty, what is too much has no change
    std::string forged;
    uint32_t checksum = 0;
    size_t next = 0;
    for (const fs::Frame& frame : frames) {
      fs::FrameHead head = frame.head;
      head.previous = checksum;
      const bool commit = head.type == fs::FrameType::kCommit;
      const std::string payload =
          commit ? WithAudit(frame.payload, records[next++]) : std::string(frame.payload);
      const uint64_t at = forged.size();
      forged += fs::EncodeFrame(head, payload, at)->bytes;
      checksum = fs::ReadFrame(forged, at, std::nullopt).frame.checksum;
    }
    disk_.Write(PathOf("journal.log"), forged);
    disk_.Write("watermarks", "");  // else the session is DAMAGED where the forged one is shorter
  }

  // The audit record of a payload of one change: version, count, and then it.
  static std::string AuditIn(std::string_view payload) {
    Decoder in(payload);
    in.Number();
    EXPECT_EQ(in.Count(), 1U);
    return std::string(in.Text());
  }
  static std::string WithAudit(std::string_view payload, std::string_view audit) {
    Decoder in(payload);
    const uint64_t version = in.Number();
    const size_t count = in.Count();
    in.Text();
    Encoder out;
    out.Number(version).Number(count).Text(audit).Raw(payload.substr(in.position()));
    return out.Take();
  }

  const SessionKey key_ = Key("alpha");
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  size_t rotate_changes_ = 64;
};

TEST_F(AuditOnDisk, AForgedSegmentIsSeenByTheChainAlone) {
  Fill(kRecords);
  const MemoryDisk whole = disk_.After(CutKind::kKilled);
  for (const Meddling& meddling : Meddlings()) {
    for (size_t at = 0; at < kRecords; ++at) {
      const bool last_pair = meddling.name == "swapped" && at + 1 == kRecords;
      disk_ = whole.After(CutKind::kKilled);
      ForgeSegment([&](Records& records) { meddling.act(records, at); });
      const size_t bad = last_pair ? 1 : at + meddling.bad_behind + 1;
      EXPECT_EQ(Verdict(), std::to_string(bad)) << meddling.name << " at " << at + 1;
    }
  }
}

TEST_F(AuditOnDisk, AForgedJournalIsSeenByTheChainAlone) {
  Fill(64);
  const MemoryDisk whole = disk_.After(CutKind::kKilled);
  for (const Meddling& meddling : Meddlings()) {
    for (size_t at = 0; at < kRecords; ++at) {
      const bool last_pair = meddling.name == "swapped" && at + 1 == kRecords;
      // Every change has its record already: none is left for one behind the last.
      if (meddling.name == "inserted" && at + 1 == kRecords) continue;
      disk_ = whole.After(CutKind::kKilled);
      ForgeJournal([&](Records& records) { meddling.act(records, at); });
      const size_t bad = last_pair ? 1 : at + meddling.bad_behind + 1;
      EXPECT_EQ(Verdict(), std::to_string(bad)) << meddling.name << " at " << at + 1;
    }
  }
}

TEST_F(AuditOnDisk, AByteChangedInASegmentNamesItsRecord) {
  Fill(kRecords);
  const std::string path = PathOf("state/log.1");
  const std::string whole = disk_.Read(path);
  const std::vector<ItemPlace> places = AuditPlaces();
  ASSERT_EQ(places.size(), kRecords);
  // Every byte of a record, and the log cut off there: the record is named, and nothing breaks.
  for (size_t record = 1; record <= kRecords; ++record) {
    const ItemPlace& place = places[record - 1];
    for (uint64_t at = place.offset; at < place.offset + place.size; ++at) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
      disk_.Write(path, bytes);
      EXPECT_EQ(Verdict(), std::to_string(record)) << at;
      disk_.Write(path, whole.substr(0, at));
      EXPECT_EQ(Verdict(), std::to_string(record)) << at;
    }
  }
}

TEST_F(AuditOnDisk, AByteChangedInTheJournalIsDamage) {
  Fill(64);
  const std::string path = PathOf("journal.log");
  const std::string whole = disk_.Read(path);
  size_t place = 0;
  for (size_t record = 1; record <= kRecords; ++record) {
    place = whole.find("SessionLifecycle", place) + 1;
    std::string bytes = whole;
    bytes[place] = static_cast<char>(bytes[place] ^ 0x10);
    disk_.Write(path, bytes);
    EXPECT_EQ(Verdict(), "DAMAGED") << record;
  }
}

}  // namespace
}  // namespace holdfast::test
