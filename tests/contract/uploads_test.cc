// Uploads: staging, linking, reading in parts, sweeping.
#include "session/limits.h"
#include "tests/contract/suite.h"

#include <utility>

namespace holdfast::test {
namespace {

constexpr size_t kPart = 100'000;

// Bytes that differ everywhere.
std::string Pattern(size_t size) {
  std::string bytes;
  bytes.reserve(size + 8);
  for (size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i * 7919) + ',';
  bytes.resize(size);
  return bytes;
}

UploadLink LinkOf(const UploadId& id, const std::string& bytes) {
  return {.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
}

StagedBytes Place(const UploadId& id, const std::string& whole, uint64_t offset, uint64_t size) {
  return {.upload = id,
          .offset = offset,
          .size = size,
          .digest = Sha256(std::string_view(whole).substr(offset, size))};
}

// A snapshot that takes over `id`: its message is the first half, its slot the second.
Change Linking(Change change, const UploadId& id, const std::string& bytes) {
  const size_t half = bytes.size() / 2;
  Message message = Text("");
  message.staged = Place(id, bytes, 0, half);
  change.messages = {message};
  Slot slot = MakeSlot("memory", "");
  slot.staged = Place(id, bytes, half, bytes.size() - half);
  change.slots = {slot};
  change.upload = LinkOf(id, bytes);
  return change;
}

// Stages and reads in parts that fit no block of a store.
class Uploader {
 public:
  Uploader(StoreUnderTest& under_test, SessionKey key)
      : under_test_(under_test), key_(std::move(key)) {}

  UploadId New() { return *UploadId::Parse(UuidText(under_test_.random().Bytes(16), 4)); }

  UploadId Stage(const std::string& bytes) {
    const UploadId id = New();
    for (size_t at = 0; at < bytes.size(); at += kPart) {
      EXPECT_TRUE(Put(id, at, bytes.substr(at, kPart)).ok());
    }
    return id;
  }
  absl::Status Put(const UploadId& id, uint64_t offset, const std::string& bytes) {
    return under_test_.store().StageUpload(key_, id, offset, bytes);
  }

  // The bytes of the first or the last message, or of the slot; in words when there is none.
  std::string ReadFirst(const std::vector<Message>& messages) {
    return messages.empty() ? "no message" : Read(messages.front().staged);
  }
  std::string ReadLast(const std::vector<Message>& messages) {
    return messages.empty() ? "no message" : Read(messages.back().staged);
  }
  std::string Read(const std::vector<SlotView>& slots) {
    return slots.size() == 1 ? Read(slots.front().slot.staged) : "no slot, or several";
  }

  // The bytes of an item; the refusal's reason when they cannot be read.
  std::string Read(const std::optional<StagedBytes>& place) {
    if (!place) return "not staged";
    std::string bytes;
    for (;;) {
      const auto part = under_test_.store().ReadStaged(key_, *place, bytes.size(), kPart / 3);
      if (!part.ok()) return ReasonIn(part);
      if (part->empty()) return bytes;
      bytes += *part;
    }
  }

 private:
  StoreUnderTest& under_test_;
  const SessionKey key_;
};

TEST_P(Contract, C180_WhatIsStagedIsNotSeen) {
  Create();
  const std::string before = Picture();
  Uploader uploader(under_test(), key());
  uploader.Stage(Pattern(3 * kPart));
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C181_AChunkTwiceIsOneChunkAndAGapIsRefused) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(2 * kPart);
  const UploadId id = uploader.New();
  EXPECT_TRUE(uploader.Put(id, 0, bytes.substr(0, kPart)).ok());
  EXPECT_TRUE(uploader.Put(id, 0, bytes.substr(0, kPart)).ok());
  const absl::Status gap = uploader.Put(id, kPart + 1, bytes.substr(kPart + 1));
  EXPECT_EQ(ReasonIn(gap), "INVALID_FIELD");
  EXPECT_EQ(FactIn(gap, "field"), "offset");
  EXPECT_EQ(FactIn(gap, "expected"), std::to_string(kPart));
  EXPECT_TRUE(uploader.Put(id, kPart, bytes.substr(kPart)).ok());
  Apply(Linking(changes().Write(token()), id, bytes));
  EXPECT_EQ(uploader.ReadLast(Messages()), bytes.substr(0, kPart));
}

TEST_P(Contract, C182_ADroppedUploadIsGone) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(kPart);
  const UploadId id = uploader.Stage(bytes);
  EXPECT_TRUE(store().DropUpload(key(), id).ok());
  EXPECT_TRUE(store().DropUpload(key(), id).ok());
  const auto refused = store().Commit(Linking(changes().Write(token()), id, bytes));
  EXPECT_EQ(ReasonIn(refused), "STORE_UNAVAILABLE");
}

TEST_P(Contract, C183_AChangeTakesOverWhatItLinks) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(5 * kPart + 17);
  const size_t half = bytes.size() / 2;
  const Receipt receipt = Apply(Linking(changes().Write(token()), uploader.Stage(bytes), bytes));
  EXPECT_EQ(receipt.messages, MessageSeq(1));
  EXPECT_EQ(uploader.ReadLast(Messages()), bytes.substr(0, half));
  const auto slots = Slots({.owners = {"memory"}});
  ASSERT_EQ(slots.size(), 1U);
  EXPECT_EQ(slots.front().size, bytes.size() - half);
  EXPECT_FALSE(slots.front().damaged);
  EXPECT_EQ(uploader.Read(slots), bytes.substr(half));
  // The history's digest does not depend on how the bytes arrived.
  Message whole = Text(bytes.substr(0, half));
  EXPECT_EQ(LoadHead().history, ExtendHistory(Digest(), whole));
}

TEST_P(Contract, C184_WhatWasTakenOverIsKept) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string first = Pattern(2 * kPart);
  const Revision then =
      Apply(Linking(changes().Write(token()), uploader.Stage(first), first)).revision;
  const std::string second = Pattern(kPart) + "again";
  Apply(Linking(changes().Write(token()), uploader.Stage(second), second));
  Reopen();
  EXPECT_EQ(uploader.ReadFirst(Messages()), first.substr(0, kPart));
  EXPECT_EQ(uploader.ReadLast(Messages()), second.substr(0, second.size() / 2));
  const auto slots = Slots({.revision = then, .owners = {"memory"}});
  ASSERT_EQ(slots.size(), 1U);
  EXPECT_EQ(uploader.Read(slots), first.substr(kPart));
  for (size_t turn = 0; turn < 2 * kSnapshotsKeptDefault; ++turn) RunTurn();
  Reopen();
  EXPECT_EQ(uploader.ReadFirst(Messages()), first.substr(0, kPart));
  EXPECT_EQ(uploader.Read(Slots({.owners = {"memory"}})), second.substr(second.size() / 2));
}

TEST_P(Contract, C289_WhatWasStagedOfARestoredHistoryIsReadable) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(2 * kPart);
  Apply(Linking(changes().Write(token()), uploader.Stage(bytes), bytes));
  RunTurn({Text("behind")});
  Change restore = changes().Write(token());
  restore.restores = HistoryCut{.generation = Generation(1),
                                .messages = MessageSeq(1),
                                .digest = ExtendHistory(Digest(), Text(bytes.substr(0, kPart)))};
  Apply(restore);
  // No snapshot names the history that it was added to.
  for (size_t turn = 0; turn < 2 * kSnapshotsKeptDefault; ++turn) RunTurn();
  for (int opened = 0; opened < 2; ++opened) {
    ASSERT_EQ(Messages().size(), 1U);
    EXPECT_EQ(uploader.ReadFirst(Messages()), bytes.substr(0, kPart));
    Reopen();
  }
}

TEST_P(Contract, C185_ALinkToSomethingElseIsRefused) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(kPart);
  const UploadId id = uploader.Stage(bytes);
  const std::string before = Picture();
  Change absent = Linking(changes().Write(token()), uploader.New(), bytes);
  Change shorter = Linking(changes().Write(token()), id, bytes);
  shorter.upload->bytes -= 1;
  Change other = Linking(changes().Write(token()), id, bytes);
  other.upload->sha256 = Sha256("something else");
  for (const Change& change : {absent, shorter, other}) {
    const absl::Status refused = RefusalIn(store().Commit(change));
    EXPECT_EQ(ReasonIn(refused), "STORE_UNAVAILABLE");
    EXPECT_EQ(FactIn(refused, "outcome"), "known");
  }
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C186_ASecondLinkIsRefused) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(kPart);
  const UploadId id = uploader.Stage(bytes);
  Apply(Linking(changes().Write(token()), id, bytes));
  const std::string before = Picture();
  EXPECT_EQ(ReasonIn(store().Commit(Linking(changes().Write(token()), id, bytes))),
            "STORE_UNAVAILABLE");
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C187_AnUploadOfAnotherSessionIsNotThere) {
  Create();
  Changes beta(Key("beta"), random());
  Apply(beta.Create());
  Uploader uploader(under_test(), Key("beta"));
  const std::string bytes = Pattern(kPart);
  const UploadId id = uploader.Stage(bytes);
  EXPECT_EQ(ReasonIn(store().Commit(Linking(changes().Write(token()), id, bytes))),
            "STORE_UNAVAILABLE");
}

TEST_P(Contract, C188_ARefusedChangeLeavesTheUpload) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(kPart);
  const UploadId id = uploader.Stage(bytes);
  Change stale = Linking(changes().Write(token()), id, bytes);
  stale.guard.token->secret = std::string(stale.guard.token->secret.size(), 'x');
  EXPECT_EQ(ReasonIn(store().Commit(stale)), "FENCED");
  Apply(Linking(changes().Write(token()), id, bytes));
}

TEST_P(Contract, C189_SweepsUploadWhenNotLinked) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(2 * kPart);
  const UploadId old = uploader.Stage(bytes);
  const UploadId touched = uploader.New();
  EXPECT_TRUE(uploader.Put(touched, 0, bytes.substr(0, kPart)).ok());
  clock().Advance(kUploadsKept - absl::Seconds(1));
  EXPECT_TRUE(uploader.Put(touched, kPart, bytes.substr(kPart)).ok());
  clock().Advance(absl::Seconds(1));
  EXPECT_TRUE(store().ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).ok());
  EXPECT_EQ(ReasonIn(store().Commit(Linking(changes().Write(token()), old, bytes))),
            "STORE_UNAVAILABLE");
  Apply(Linking(changes().Write(token()), touched, bytes));
}

TEST_P(Contract, C190_AnyPartOfAStagedItemCanBeRead) {
  Create();
  Uploader uploader(under_test(), key());
  const std::string bytes = Pattern(4 * kPart);
  Apply(Linking(changes().Write(token()), uploader.Stage(bytes), bytes));
  const std::string slot = bytes.substr(2 * kPart);
  const auto slots = Slots({.owners = {"memory"}});
  ASSERT_TRUE(slots.size() == 1 && slots.front().slot.staged);
  const StagedBytes place = *slots.front().slot.staged;
  const std::vector<std::pair<size_t, size_t>> parts = {
      {0, 1}, {kPart, 70'000}, {65'535, 2}, {2 * kPart - 5, 100}, {2 * kPart, 10}, {0, 0}};
  for (const auto& [offset, count] : parts) {
    const auto part = store().ReadStaged(key(), place, offset, count);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_TRUE(*part == slot.substr(offset, count)) << offset;
  }
}

}  // namespace
}  // namespace holdfast::test
