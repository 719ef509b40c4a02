// Mutants of pages, positions, listings and candidates.
#include "session/refusal.h"
#include "tests/contract/mutants.h"
#include "tests/contract/suite.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>

namespace holdfast::test {
namespace {

// Says OK with an empty page where `reason` was due.
template <typename Page>
void Swallow(Reason reason, absl::StatusOr<Page>& page) {
  if (Is(page.status(), reason)) page = Page();
}

// The same for each kind of page that has an end.
Hooks ForAllPages(const std::function<void(const ReadArgs&, bool& end)>& change_page) {
  const auto hook = [change_page](const ReadArgs& args, auto& page) {
    if (page.ok()) change_page(args, page->end);
  };
  return {.messages = hook, .journal = hook, .events = hook, .audit = hook};
}

Hooks EmptyWhenTight() {
  constexpr size_t kTight = 50;
  const auto tight = [](const ReadArgs& args) { return args.limit.bytes < kTight; };
  return {.messages =
              [tight](const ReadArgs& args, absl::StatusOr<MessagePage>& page) {
                if (tight(args)) page->messages.clear();
              },
          .journal =
              [tight](const ReadArgs& args, absl::StatusOr<JournalPage>& page) {
                if (tight(args)) page->entries.clear();
              }};
}

const std::vector<Mutant> kReads = {
    {"reads-are-of-now", {.ask_read = [](Stage&, ReadArgs& args) { args.revision.reset(); }}},
    {"a-page-has-any-number-of-items",
     {.ask_read = [](Stage&, ReadArgs& args) { args.limit.items = 1000; }}},
    {"a-page-has-any-number-of-bytes",
     {.ask_read = [](Stage&, ReadArgs& args) { args.limit.bytes = kWholePage.bytes; }}},
    {"a-page-has-half-of-the-items",
     {.ask_read = [](Stage&, ReadArgs& args) { args.limit.items = (args.limit.items + 1) / 2; }}},
    {"an-item-that-is-too-large-is-left-out", EmptyWhenTight()},
    {"no-page-is-the-last", ForAllPages([](const ReadArgs&, bool& end) { end = false; })},
    {"every-page-is-the-last", ForAllPages([](const ReadArgs&, bool& end) { end = true; })},
    {"a-page-begins-with-the-item-before",
     {.ask_read =
          [](Stage&, ReadArgs& args) {
            if (args.after > 0) --args.after;
          }}},
    {"never-says-that-messages-were-pruned",
     {.messages =
          [](const ReadArgs&, absl::StatusOr<MessagePage>& page) {
            Swallow(Reason::kRevisionPruned, page);
          }}},
    {"never-says-that-entries-were-pruned",
     {.journal =
          [](const ReadArgs&, absl::StatusOr<JournalPage>& page) {
            Swallow(Reason::kRevisionPruned, page);
          }}},
    {"never-says-that-a-position-is-ahead",
     {.messages =
          [](const ReadArgs&, absl::StatusOr<MessagePage>& page) {
            Swallow(Reason::kRevisionAhead, page);
          }}},
    {"reads-of-a-deleted-session-are-empty",
     {.messages = [](const ReadArgs&,
                     absl::StatusOr<MessagePage>& page) { Swallow(Reason::kTombstoned, page); }}},
    {"reads-of-an-unknown-session-are-empty",
     {.events = [](const ReadArgs&,
                   absl::StatusOr<EventPage>& page) { Swallow(Reason::kSessionNotFound, page); }}},
    {"the-journal-comes-backwards",
     {.journal =
          [](const ReadArgs&, absl::StatusOr<JournalPage>& page) {
            if (page.ok()) std::ranges::reverse(page->entries);
          }}},
    {"the-journal-is-of-all-turns",
     {.ask_read = [](Stage&, ReadArgs& args) { args.turn.reset(); }}},
    {"the-journal-of-a-turn-is-one-page",
     {.journal =
          [](const ReadArgs& args, absl::StatusOr<JournalPage>& page) {
            if (page.ok() && args.turn) page->end = true;
          }}},
    {"old-audit-records-go",
     {.audit =
          [](const ReadArgs&, absl::StatusOr<AuditPage>& page) {
            if (!page.ok()) return;
            std::erase_if(page->records,
                          [](const AuditRecord& record) { return record.seq <= AuditSeq(30); });
          }}},
    {"sessions-go-after-a-year",
     {.ask_read =
          [](Stage& stage, ReadArgs&) {
            std::erase_if(stage.disk.sessions, [&](const auto& entry) {
              return entry.second.head.updated_at + absl::Hours(24 * 365) < stage.clock.Wall();
            });
          }}},
};

const std::vector<Mutant> kListings = {
    {"lists-all-tenants",
     {.list =
          [](Stage& stage, const ListQuery& query, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            for (const auto& [key, session] : stage.disk.sessions) {
              if (key.tenant != query.tenant) page->rows.push_back({.id = key.session});
            }
          }}},
    {"a-damaged-session-stops-the-listing",
     {.list =
          [](Stage& stage, const ListQuery&, absl::StatusOr<ListPage>& page) {
            for (const auto& [key, session] : stage.disk.sessions) {
              if (session.damaged)
                page = Refusal(Reason::kDamaged, "one of them is damaged").ToStatus();
            }
          }}},
    {"hides-damaged-and-foreign-sessions",
     {.list =
          [](Stage&, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            std::erase_if(page->rows, [](const SessionRow& row) {
              return row.condition != SessionRow::Condition::kOk;
            });
          }}},
    {"lists-by-id",
     {.list =
          [](Stage&, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (page.ok()) std::ranges::sort(page->rows, {}, &SessionRow::id);
          }}},
    {"loses-a-row-between-pages",
     {.list =
          [](Stage&, const ListQuery& query, absl::StatusOr<ListPage>& page) {
            if (page.ok() && query.after && !page->rows.empty())
              page->rows.erase(page->rows.begin());
          }}},
    {"always-lists-upwards", {.ask_list = [](ListQuery& query) { query.descending = false; }}},
    {"lists-every-project", {.ask_list = [](ListQuery& query) { query.project_root.clear(); }}},
    {"lists-every-kind", {.ask_list = [](ListQuery& query) { query.kinds.clear(); }}},
    {"lists-every-group", {.ask_list = [](ListQuery& query) { query.group.clear(); }}},
    {"lists-the-group-alone-that-is-a-prefix",
     {.ask_list = [](ListQuery& query) { query.group_is_prefix = false; }}},
    {"lists-each-group-that-begins-so",
     {.ask_list = [](ListQuery& query) { query.group_is_prefix = !query.group.empty(); }}},
    {"lists-every-lifecycle", {.ask_list = [](ListQuery& query) { query.lifecycles.clear(); }}},
    {"rows-know-nothing",
     {.list =
          [](Stage&, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            for (SessionRow& row : page->rows) row.revision = Revision();
          }}},
    {"lists-the-deleted",
     {.list =
          [](Stage& stage, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            for (const auto& [key, session] : stage.disk.sessions) {
              if (session.tombstone) page->rows.push_back({.id = key.session});
            }
          }}},
    {"an-empty-listing-is-never-complete",
     {.list =
          [](Stage&, const ListQuery& query, absl::StatusOr<ListPage>& page) {
            // But for the page of one by which the suite waits for an opened store.
            if (page.ok() && query.limit > 1) page->complete = !page->rows.empty();
          }}},
    {"lists-nothing-when-opened-again",
     {.list =
          [](Stage& stage, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (page.ok() && stage.openings > 1) page->rows.clear();
          }}},
    {"lists-what-was-written-since-the-start",
     {.list =
          [](Stage& stage, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            std::erase_if(page->rows, [&](const SessionRow& row) {
              return row.revision == Revision(1) && stage.disk.sessions.size() == 1;
            });
          }}},
    {"rows-know-no-events",
     {.list =
          [](Stage&, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            for (SessionRow& row : page->rows) row.last_event = EventSeq();
          }}},
    {"rows-bring-no-attributes", {.ask_list = [](ListQuery& query) { query.attributes.clear(); }}},
    {"rows-bring-no-slots", {.ask_list = [](ListQuery& query) { query.owners.clear(); }}},
    {"rows-have-all-data-of-slots",
     {.list =
          [](Stage&, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            for (SessionRow& row : page->rows) {
              for (SlotView& view : row.slots) view.data_left_out = false;
            }
          }}},
    {"a-page-of-rows-has-any-number-of-bytes",
     {.ask_list = [](ListQuery& query) { query.most_bytes = std::numeric_limits<size_t>::max(); }}},
    {"a-damaged-session-hides-the-content-of-others",
     {.list =
          [](Stage& stage, const ListQuery&, absl::StatusOr<ListPage>& page) {
            const bool is_damaged = std::ranges::any_of(
                stage.disk.sessions, [](const auto& entry) { return entry.second.damaged; });
            if (!page.ok() || !is_damaged) return;
            for (SessionRow& row : page->rows) row.attributes.clear();
          }}},
    {"every-active-session-is-due",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            due.clear();
            for (const auto& [key, session] : stage.disk.sessions) {
              if (session.head.lifecycle == Lifecycle::kActive) due.push_back(key);
            }
          }}},
    {"candidates-come-backwards",
     {.due = [](Stage&, std::vector<SessionKey>& due) { std::ranges::reverse(due); }}},
    {"candidates-begin-at-the-first",
     {.ask_due = [](std::optional<SessionKey>& after) { after.reset(); }}},
    {"candidates-begin-with-the-one-before",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            if (due.empty()) return;
            const auto first = stage.disk.sessions.find(due.front());
            if (first != stage.disk.sessions.begin()) {
              due.insert(due.begin(), std::prev(first)->first);
            }
          }}},
    {"nothing-is-due", {.due = [](Stage&, std::vector<SessionKey>& due) { due.clear(); }}},
    {"only-a-turns-age-counts",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            for (const auto& [key, session] : stage.disk.sessions) {
              if (!session.head.turn || !due.empty()) continue;
              const absl::Duration age = stage.clock.Wall() - session.head.turn->started_at;
              if (age > absl::Seconds(300)) due.push_back(key);
            }
          }}},
};

}  // namespace

const std::vector<Mutant>& ReadMutants() { return kReads; }
const std::vector<Mutant>& ListingMutants() { return kListings; }

}  // namespace holdfast::test
