#include "tests/faults/session_picture.h"

#include "session/codec/item_facts.h"
#include "session/codec/records.h"
#include "session/refusal.h"

#include <algorithm>
#include <utility>

namespace holdfast::test {
namespace {

constexpr PageLimit kOne{.items = 1, .bytes = 1};

template <typename T, typename Words>
std::string AnswerOf(const absl::StatusOr<T>& answer, Words words) {
  if (!answer.ok()) return "! " + ReasonNameOf(answer.status());
  return words(*answer);
}

template <typename T, typename Encode>
std::string AllOf(const std::vector<T>& items, Encode encode) {
  std::string all;
  for (const T& item : items) all += encode(item) + "\n";
  return all;
}

class Painter {
 public:
  Painter(SessionStore& store, const Subject& subject) : store_(store), subject_(subject) {}

  Picture Paint() {
    const auto loaded = store_.LoadForDecision(subject_.key, std::nullopt);
    Say("head", AnswerOf(loaded, [](const LoadedSession& found) {
          Head head = found.head;
          head.tail_bytes_truncated = 0;
          return EncodeHead(head);
        }));
    for (const RequestId& id : subject_.requests) {
      Say("reply " + id.value(),
          AnswerOf(store_.LoadForDecision(subject_.key, id), [](const LoadedSession& found) {
            return found.request ? EncodeRequest(*found.request) : "none";
          }));
    }
    // What the whole one has is asked of every other, also when its head cannot be read.
    for (uint64_t at = 0; at < kAsked; ++at) PaintAfter(at);
    PaintSlots();
    PaintItems();
    for (const StagedBytes& bytes : subject_.staged) {
      Say("staged " + bytes.upload.value() + " at " + std::to_string(bytes.offset),
          AnswerOf(store_.ReadStaged(subject_.key, bytes, 0, bytes.size),
                   [](const std::string& read) { return read; }));
    }
    return std::move(picture_);
  }

 private:
  static constexpr uint64_t kAsked = 24;

  void Say(const std::string& call, std::string answer) {
    picture_[subject_.key.session.value() + " " + call] = std::move(answer);
  }

  void PaintAfter(uint64_t at) {
    const std::string behind = " behind " + std::to_string(at);
    const SessionKey& key = subject_.key;
    Say("messages" + behind,
        AnswerOf(store_.ReadMessages(key, std::nullopt, MessageSeq(at), kOne),
                 [](const MessagePage& page) { return AllOf(page.messages, EncodeMessage); }));
    Say("entries" + behind,
        AnswerOf(store_.ReadJournal(key, {.after = JournalNumber(at), .turn = std::nullopt}, kOne),
                 [](const JournalPage& page) { return AllOf(page.entries, EncodeEntry); }));
    Say("events" + behind,
        AnswerOf(store_.ReadEvents(key, EventSeq(at), kOne),
                 [](const EventPage& page) { return AllOf(page.events, EncodeEvent); }));
    Say("audit" + behind,
        AnswerOf(store_.ReadAudit(key, AuditSeq(at), kOne),
                 [](const AuditPage& page) { return AllOf(page.records, EncodeAudit); }));
  }

  void PaintSlots() {
    const auto page = store_.ReadSlots(subject_.key, {});
    Say("slots", AnswerOf(page, [](const SlotPage&) { return std::string("there"); }));
    if (!page.ok()) return;
    for (const SlotView& view : page->slots) {
      Say("slot " + view.slot.owner, view.damaged ? "! DAMAGED" : EncodeSlot(view.slot));
    }
  }

  void PaintItems() {
    const auto page = store_.ReadItems(subject_.key, {.collection = kPaintedItems, .data = true},
                                       {.items = 1000, .bytes = size_t{1} << 24});
    Say("items", AnswerOf(page, [](const ItemPage&) { return std::string("there"); }));
    if (!page.ok()) return;
    for (const ItemView& view : page->items) {
      const Item& item = view.item;
      Say("item " + item.name.key, view.damaged
                                       ? "! DAMAGED"
                                       : std::to_string(item.version.value()) + " " +
                                             EncodeItemFacts(item) + " " + item.data.str());
    }
  }

  SessionStore& store_;
  const Subject& subject_;
  Picture picture_;
};

}  // namespace

std::string ReasonNameOf(const absl::Status& status) {
  return status.ok() ? "OK" : std::string(RowOf(RefusalOf(status).reason()).name);
}

bool IsDamage(const std::string& answer) {
  // A store id that was changed is another store's.
  static const std::set<std::string> kDamage = {"! DAMAGED", "! MANIFEST_DRIFT",
                                                "! RESUME_MISMATCH"};
  return kDamage.contains(answer);
}

Picture PictureOf(SessionStore& store, const std::vector<Subject>& subjects) {
  Picture picture;
  for (const Subject& subject : subjects) picture.merge(Painter(store, subject).Paint());
  return picture;
}

}  // namespace holdfast::test
