// The first byte says what the rest is: a journal as it is on the disk; or payloads, each
// behind its length, of frames that are put around them, so that no checksum keeps the records from
// being reached; or one record.
#include "platform/encoding.h"
#include "session/codec/records.h"
#include "store-fs/change_record.h"
#include "store-fs/frame.h"
#include "store-fs/layout.h"
#include "store-fs/manifest.h"
#include "store-fs/recovery.h"
#include "tests/fuzz/targets.h"
#include "tests/support/golden.h"
#include "tests/support/memory_files.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::fuzz {
namespace {

constexpr size_t kUuidText = 36;

// The session that every journal is given to.
struct Place {
  std::string manifest_text;
  SessionKey key;
  fs::StoreIdentity identity;
  fs::Manifest manifest;
};

Place MakePlace() {
  Place place{.manifest_text = test::ReadProjectFile(std::string(kGoldenSession) + "manifest.json"),
              .key = {*TenantId::Parse("default"), *SessionId::Parse("beta")}};
  constexpr std::string_view kStore = "\"storeId\": \"";
  const size_t at = place.manifest_text.find(kStore);
  Require(at != std::string::npos, "the golden manifest has no store id");
  const std::string store = place.manifest_text.substr(at + kStore.size(), kUuidText);
  place.identity = {.store = *StoreId::Parse(store), .incarnation = Incarnation(1)};
  auto manifest = fs::DecodeManifest(place.manifest_text, place.key, place.identity.store);
  Require(manifest.ok(), "the golden manifest cannot be read");
  place.manifest = *std::move(manifest);
  return place;
}

const Place& ThePlace() {
  static const Place kPlace = MakePlace();
  return kPlace;
}

// A journal of `payloads`, each behind two bytes of length.
std::string Framed(std::string_view payloads) {
  const fs::Manifest& manifest = ThePlace().manifest;
  const fs::EncodedFrame start = fs::EncodeStart({.salt = manifest.salt, .number = manifest.file});
  std::string journal = start.bytes;
  uint32_t previous = start.checksum;
  uint64_t number = 0;
  while (payloads.size() >= 2) {
    const auto low = static_cast<uint8_t>(payloads[0]);
    const auto high = static_cast<uint8_t>(payloads[1]);
    const std::string_view payload = payloads.substr(2, low + high * size_t{256});
    payloads.remove_prefix(2 + payload.size());
    const fs::FrameHead head{.type = fs::FrameType::kCommit,
                             .salt = ThePlace().manifest.salt,
                             .epoch = Epoch(1),
                             .revision = Revision(++number),
                             .previous = previous};
    const std::string frame = fs::EncodeFrame(head, payload, journal.size())->bytes;
    journal += frame;
    const fs::FrameRead read =
        fs::ReadFrame(journal, journal.size() - frame.size(), ThePlace().manifest.salt);
    Require(read.state == fs::FrameState::kValid, "a frame that was just made is not valid");
    Require(read.frame.payload == payload, "a frame's payload is not what it was made of");
    previous = read.frame.checksum;
  }
  return journal;
}

std::string HeadText(const Head& head) { return EncodeHead(head); }

// Whatever the journal holds: recovery answers, cuts at most once, and finds the same again.
void Recover(const std::string& journal, bool unsynced) {
  const Place& place = ThePlace();
  fs::StoreIdentity identity = place.identity;
  identity.unsynced = unsynced;
  test::MemoryDisk disk;
  const std::unique_ptr<fs::Files> files = disk.Open();
  const std::string directory = fs::DirectoryOf(place.key);
  for (const char* parent : {"tmp", "t", "t/default"}) (void)files->MakeDirectory(parent);
  Require(files->MakeDirectory(directory).ok(), "a directory cannot be made");
  Require(fs::WriteNew(*files, directory + "/" + fs::kManifestFile, place.manifest_text).ok() &&
              fs::WriteNew(*files, directory + "/" + fs::kJournalFile, journal).ok(),
          "a file cannot be written");
  const auto peeked = fs::PeekSession(*files, place.key, identity);
  const auto opened = fs::RecoverSession(*files, place.key, identity);
  Require(peeked.ok() == opened.ok(), "a look and a recovery disagree");
  if (!opened.ok()) return;
  const auto again = fs::RecoverSession(*files, place.key, identity);
  Require(again.ok(), "what was recovered cannot be recovered again");
  Require(HeadText(again->state.head) == HeadText(opened->state.head),
          "a second recovery finds another session");
  Require(again->journal.end == opened->journal.end, "a second recovery cuts again");
}

// What a decoder takes is what its encoder writes back.
template <typename T>
void RoundTrip(std::string_view bytes, std::optional<T> (*decode)(std::string_view),
               std::string (*encode)(const T&)) {
  const std::optional<T> item = decode(bytes);
  if (!item) return;
  const std::string text = encode(*item);
  const std::optional<T> again = decode(text);
  Require(again.has_value(), "a record that was written back cannot be read");
  Require(encode(*again) == text, "a record changes when it is written back");
}

void Record(std::string_view bytes) {
  if (bytes.empty()) return;
  const char kind = bytes.front();
  bytes.remove_prefix(1);
  switch (static_cast<uint8_t>(kind) % 8) {
    case 0:
      return RoundTrip<Message>(bytes, DecodeMessage, EncodeMessage);
    case 1:
      return RoundTrip<Slot>(bytes, DecodeSlot, EncodeSlot);
    case 2:
      return RoundTrip<JournalEntry>(bytes, DecodeEntry, EncodeEntry);
    case 3:
      return RoundTrip<Event>(bytes, DecodeEvent, EncodeEvent);
    case 4:
      return RoundTrip<AuditRecord>(bytes, DecodeAudit, EncodeAudit);
    case 5:
      return RoundTrip<RequestRow>(bytes, DecodeRequest, EncodeRequest);
    case 6:
      return RoundTrip<Head>(bytes, DecodeHead, EncodeHead);
    default:
      (void)fs::DecodeChanges(bytes);
  }
}

}  // namespace

void Journal(std::string_view bytes) {
  if (bytes.empty()) return;
  const char mode = bytes.front();
  bytes.remove_prefix(1);
  switch (static_cast<uint8_t>(mode) % 4) {
    case 0:
      return Recover(std::string(bytes), false);
    case 1:
      return Recover(std::string(bytes), true);
    case 2:
      return Recover(Framed(bytes), false);
    default:
      return Record(bytes);
  }
}

}  // namespace holdfast::fuzz
