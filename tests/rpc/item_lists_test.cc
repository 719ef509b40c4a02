// The lists of a session's items, page by page.
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

constexpr char kStoreSlot[] = "holdfast.store";  // is the first by its owner

class ItemListsRpc : public Served {
 protected:
  // A session with so many messages and slots, and a turn that is active.
  void Fill(int messages, int slots, size_t slot_bytes = 1) {
    pb::CreateSessionRequest create = CreateRequest("one");
    for (int i = 0; i < messages; ++i) create.add_messages()->set_data(absl::StrCat("m", i));
    for (int i = 0; i < slots; ++i) {
      pb::Slot& slot = *create.add_slots();
      slot.set_owner(absl::StrCat("owner-", i));
      slot.set_version("1.0.0");
      slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
      slot.set_data(std::string(slot_bytes, 'x'));
    }
    pb::CreateSessionResponse created;
    ASSERT_TRUE(Ask(&Stub::CreateSession, create, &created).ok());
    token_ = created.lease_token();
    Begin("one", token_);
  }
  void Say(const std::string& text) { Commit("one", token_, 1, text); }
  void AppendEntries(int count) {
    for (int i = 1; i <= count; ++i) {
      ASSERT_TRUE(Ask(&Stub::AppendJournal, AppendRequest("one", token_, 1, i)).ok());
    }
  }

  // The pages of `request` of so many items, each as the texts that `item` makes of them.
  template <typename Request, typename Response, typename Items>
  std::vector<std::vector<std::string>> Pages(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                           const Request&,
                                                                           Response*),
                                              Request request, int page_size, Items items) {
    std::vector<std::vector<std::string>> pages;
    request.set_session_id("one");
    request.set_page_size(page_size);
    do {
      Response page;
      const grpc::Status status = Ask(method, request, &page);
      EXPECT_TRUE(status.ok()) << status.error_message();
      pages.push_back(items(page));
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return pages;
  }

  std::string token_;
};

std::vector<std::string> MessageTexts(const pb::ListMessagesResponse& page) {
  std::vector<std::string> texts;
  for (const pb::Message& message : page.messages()) texts.push_back(message.data());
  return texts;
}

std::vector<std::string> Owners(const pb::ListSlotsResponse& page) {
  std::vector<std::string> owners;
  for (int i = 0; i < page.slots_size(); ++i) {
    owners.push_back(page.slots(i).owner());
    const bool whole = page.slots(i).data().size() == static_cast<size_t>(page.sizes(i));
    EXPECT_TRUE(whole || page.slots(i).data().empty()) << owners.back();
  }
  return owners;
}

std::vector<std::string> Numbers(const pb::ListJournalEntriesResponse& page) {
  std::vector<std::string> numbers;
  for (const pb::JournalEntry& entry : page.entries()) {
    numbers.push_back(std::to_string(entry.journal_number()));
  }
  return numbers;
}

using ListOfPages = std::vector<std::vector<std::string>>;

TEST_F(ItemListsRpc, EachGoesOnWhereThePageBeforeEnded) {
  Fill(5, 3);
  AppendEntries(3);
  EXPECT_EQ(Pages(&Stub::ListMessages, pb::ListMessagesRequest(), 2, MessageTexts),
            (ListOfPages{{"m0", "m1"}, {"m2", "m3"}, {"m4"}}));
  EXPECT_EQ(Pages(&Stub::ListSlots, pb::ListSlotsRequest(), 2, Owners),
            (ListOfPages{{kStoreSlot, "owner-0"}, {"owner-1", "owner-2"}}));
  EXPECT_EQ(Pages(&Stub::ListJournalEntries, pb::ListJournalEntriesRequest(), 2, Numbers),
            (ListOfPages{{"1", "2"}, {"3"}}));
  const auto events =
      Pages(&Stub::ListEvents, pb::ListEventsRequest(), 1,
            [](const pb::ListEventsResponse& page) { return std::vector{page.events(0).name()}; });
  EXPECT_EQ(events, (ListOfPages{{"SessionStarted"}, {"SessionTurnStart"}}));
  const auto records = Pages(&Stub::ListAuditRecords, pb::ListAuditRecordsRequest(), 1,
                             [](const pb::ListAuditRecordsResponse& page) {
                               return std::vector{page.records(0).audit_class()};
                             });
  EXPECT_EQ(records, (ListOfPages{{"SessionLifecycle"}, {"Turn"}}));
}

// Also what the request filters by, and where its list starts, stays from page to page.
TEST_F(ItemListsRpc, StartBehindANumberAndKeepTheirFilter) {
  Fill(5, 0);
  AppendEntries(3);
  pb::ListMessagesRequest messages;
  messages.set_after_seq(2);
  EXPECT_EQ(Pages(&Stub::ListMessages, messages, 2, MessageTexts),
            (ListOfPages{{"m2", "m3"}, {"m4"}}));
  pb::ListJournalEntriesRequest entries;
  entries.set_turn(1);
  entries.set_after_journal_number(1);
  EXPECT_EQ(Pages(&Stub::ListJournalEntries, entries, 1, Numbers), (ListOfPages{{"2"}, {"3"}}));
}

TEST_F(ItemListsRpc, PagesOfMessagesAndSlotsShowTheRevisionOfTheFirst) {
  Fill(2, 2);
  pb::ListMessagesRequest messages;
  messages.set_session_id("one");
  messages.set_page_size(1);
  pb::ListMessagesResponse first;
  ASSERT_TRUE(Ask(&Stub::ListMessages, messages, &first).ok());
  pb::ListSlotsRequest slots;
  slots.set_session_id("one");
  slots.set_page_size(1);
  pb::ListSlotsResponse slot;
  ASSERT_TRUE(Ask(&Stub::ListSlots, slots, &slot).ok());
  Say("later");
  messages.set_page_token(first.next_page_token());
  pb::ListMessagesResponse second;
  ASSERT_TRUE(Ask(&Stub::ListMessages, messages, &second).ok());
  EXPECT_EQ(MessageTexts(second), std::vector<std::string>{"m1"});
  EXPECT_EQ(second.next_page_token(), "");
  EXPECT_EQ(second.revision(), first.revision());
  EXPECT_EQ(second.message_count(), 2);
  slots.set_page_token(slot.next_page_token());
  pb::ListSlotsResponse other;
  ASSERT_TRUE(Ask(&Stub::ListSlots, slots, &other).ok());
  EXPECT_EQ(Owners(other), std::vector<std::string>{"owner-0"});
  EXPECT_EQ(other.revision(), slot.revision());
}

TEST_F(ItemListsRpc, ASizeAboveTheLimitIsCutDownToIt) {
  Fill(static_cast<int>(kPageMost) + 1, 0);
  const auto pages = Pages(&Stub::ListMessages, pb::ListMessagesRequest(), INT32_MAX, MessageTexts);
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].size(), kPageMost);
  EXPECT_EQ(pages[1].size(), 1U);
}

// A page also ends by its bytes, and every slot comes with its data.
TEST_F(ItemListsRpc, APageOfSlotsEndsByItsBytes) {
  Fill(0, 5, kPageBytes / 3 - kKiB);
  EXPECT_EQ(Pages(&Stub::ListSlots, pb::ListSlotsRequest(), 0, Owners),
            (ListOfPages{{kStoreSlot, "owner-0", "owner-1", "owner-2"}, {"owner-3", "owner-4"}}));
  pb::ListSlotsRequest directory;
  directory.set_without_data(true);
  EXPECT_EQ(Pages(&Stub::ListSlots, directory, 0, Owners).size(), 1U);
}

TEST_F(ItemListsRpc, ATokenIsBoundToItsRequest) {
  Fill(3, 0);
  Create("two");
  pb::ListMessagesRequest request;
  request.set_session_id("one");
  request.set_page_size(1);
  pb::ListMessagesResponse page;
  ASSERT_TRUE(Ask(&Stub::ListMessages, request, &page).ok());
  const std::string token = page.next_page_token();
  request.set_page_token(token);
  request.set_page_size(2);  // is no part of the question
  EXPECT_TRUE(Ask(&Stub::ListMessages, request).ok());

  const auto rejected = [&](const grpc::Status& status) {
    EXPECT_EQ(ReasonOf(status), "INVALID_FIELD");
    EXPECT_EQ(ErrorInfoOf(DetailsOf(status)).metadata().at("field"), "page_token");
  };
  pb::ListMessagesRequest other = request;
  other.set_session_id("two");
  rejected(Ask(&Stub::ListMessages, other));
  other = request;
  other.set_after_seq(1);
  rejected(Ask(&Stub::ListMessages, other));
  other = request;
  other.set_revision(1);
  rejected(Ask(&Stub::ListMessages, other));
  other = request;
  other.set_page_token(token.substr(1));
  rejected(Ask(&Stub::ListMessages, other));
  pb::ListEventsRequest events;
  events.set_session_id("one");
  events.set_page_token(token);
  rejected(Ask(&Stub::ListEvents, events));
}

}  // namespace
}  // namespace holdfast::test
