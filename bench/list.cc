// list-fs, list-pg: a page of 50 sessions among many against one among few.
#include "bench/benches.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/session_maker.h"
#include "bench/timing.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr uint64_t kManyInFiles = 100'000;
constexpr uint64_t kManyInDatabase = 1'000'000;
constexpr uint64_t kSmokeMany = 2'000;
constexpr uint64_t kFew = 1'000;
constexpr uint32_t kPage = 50;
constexpr size_t kPages = 200;  // of a round
constexpr auto kPatience = std::chrono::minutes(15);
constexpr Goal kPageTime = AtMost(1.5);

// A server with so many sessions, whose pages are asked for one after the other.
class Listed {
 public:
  // `served` must outlive it.
  explicit Listed(Served& served) : served_(served) {}

  absl::Status Fill(uint64_t sessions) {
    RETURN_IF_ERROR(served_.Start());
    ASSIGN_OR_RETURN(sessions_, MakeSessions(served_, sessions, kPatience));
    ASSIGN_OR_RETURN(const uint64_t listed, CountSessions(served_));
    if (listed == sessions_) return absl::OkStatus();
    return absl::FailedPreconditionError("sessions that were acknowledged are not listed");
  }

  // The next page; after the last one the first.
  absl::Status NextPage() {
    request_.set_page_size(kPage);
    grpc::ClientContext context;
    v1::ListSessionsResponse page;
    const grpc::Status status = served_.sessions().ListSessions(&context, request_, &page);
    if (!status.ok()) return FailedCall("ListSessions", status);
    request_.set_page_token(page.next_page_token());
    return absl::OkStatus();
  }

  [[nodiscard]] uint64_t sessions() const { return sessions_; }

 private:
  Served& served_;
  uint64_t sessions_ = 0;
  v1::ListSessionsRequest request_;
};

// Measures both, which hold nothing yet.
absl::Status Compare(const Plan& plan, Figures& figures, Listed& many, uint64_t sessions,
                     Listed& few) {
  RETURN_IF_ERROR(many.Fill(sessions));
  RETURN_IF_ERROR(few.Fill(kFew));
  std::vector<double> pages_many;
  std::vector<double> pages_few;
  for (size_t round = 1; round <= plan.rounds; ++round) {
    ASSIGN_OR_RETURN(const double few_ms,
                     MedianMilliseconds(kPages, [&] { return few.NextPage(); }));
    ASSIGN_OR_RETURN(const double many_ms,
                     MedianMilliseconds(kPages, [&] { return many.NextPage(); }));
    figures.Keep(round, "page-few", "ms", few_ms, pages_few);
    figures.Keep(round, "page-many", "ms", many_ms, pages_many);
  }
  figures.Print("page-many-over-few", MedianRatio(pages_many, pages_few), kPageTime);
  figures.Print("sessions-many", static_cast<double>(many.sessions()));
  figures.Print("sessions-few", static_cast<double>(few.sessions()));
  figures.Print("page-many-ms", Median(pages_many));
  figures.Print("page-few-ms", Median(pages_few));
  return absl::OkStatus();
}

}  // namespace

absl::Status BenchListFs(const Plan& plan, Figures& figures) {
  Served with_many(plan.holdfastd, plan.directory + "/many");
  Served with_few(plan.holdfastd, plan.directory + "/few");
  Listed many(with_many);
  Listed few(with_few);
  return Compare(plan, figures, many, plan.Many(kManyInFiles, kSmokeMany), few);
}

absl::Status BenchListPg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  RETURN_IF_ERROR(database->MakeStore("few"));
  Served with_many(plan.holdfastd, plan.directory + "/many", Keeping::In(database->dsn("store")));
  Served with_few(plan.holdfastd, plan.directory + "/few", Keeping::In(database->dsn("few")));
  Listed many(with_many);
  Listed few(with_few);
  return Compare(plan, figures, many, plan.Many(kManyInDatabase, kSmokeMany), few);
}

}  // namespace holdfast::bench
