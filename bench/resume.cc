// resume-fs, resume-pg: taking up a session with a long history against one with a short one, and
// streaming the long history against reading as many bytes raw: a file with cat, rows with COPY.
// One call at a time.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/copy_out.h"
#include "bench/costs.h"
#include "bench/echo.h"
#include "bench/postgres.h"
#include "bench/raw_insert.h"
#include "bench/rounds.h"
#include "bench/timing.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr uint64_t kLong = 10'000;
constexpr uint64_t kSmokeLong = 500;
constexpr uint64_t kShort = 10;
constexpr size_t kMessageBytes = 1024;
constexpr size_t kResumes = 100;  // of a round
constexpr size_t kReads = 10;     // of a round
constexpr size_t kEchoes = 1024;  // of a round
constexpr Goal kResume = AtMost(1.1);
constexpr Goal kReadFile = AtLeast(0.5);
constexpr Goal kReadRows = AtLeast(0.4, 0.5);

// The same bytes as the long history, read without a session around them.
class Plain {
 public:
  Plain() = default;
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  virtual ~Plain() = default;

  // So many pieces of so many fresh bytes.
  virtual absl::Status Fill(uint64_t pieces, size_t bytes) = 0;
  // Reads all of them.
  virtual absl::Status Read() = 0;
};

class PlainFile final : public Plain {
 public:
  explicit PlainFile(std::string path) : path_(std::move(path)) {}

  absl::Status Fill(uint64_t pieces, size_t bytes) override {
    bytes_ = pieces * bytes;
    std::ofstream(path_, std::ios::binary) << FreshBytes().Take(bytes_);
    return absl::OkStatus();
  }

  absl::Status Read() override {
    static std::array<char, 65'536> block;
    std::FILE* const pipe = popen(("exec cat '" + path_ + "'").c_str(), "r");
    if (pipe == nullptr) return absl::UnavailableError("cannot run cat");
    uint64_t bytes = 0;
    while (const size_t got = std::fread(block.data(), 1, block.size(), pipe)) bytes += got;
    const bool ended = pclose(pipe) == 0;
    if (ended && bytes == bytes_) return absl::OkStatus();
    return absl::UnavailableError("cat did not read " + path_);
  }

 private:
  const std::string path_;
  uint64_t bytes_ = 0;
};

// A table of the same rows, over a connection that is there already.
class PlainRows final : public Plain {
 public:
  explicit PlainRows(Postgres& database) : database_(database) {}

  absl::Status Fill(uint64_t pieces, size_t bytes) override {
    RETURN_IF_ERROR(database_.DoInStore("CREATE TABLE raw (bytes bytea)"));
    ASSIGN_OR_RETURN(const auto row, RawInsert::Make(database_, bytes));
    for (uint64_t piece = 0; piece < pieces; ++piece) RETURN_IF_ERROR(row->Commit());
    bytes_ = pieces * bytes;
    ASSIGN_OR_RETURN(copy_, CopyOut::Open(database_.dsn("store")));
    return absl::OkStatus();
  }

  absl::Status Read() override {
    ASSIGN_OR_RETURN(const uint64_t bytes,
                     copy_->Read("COPY public.raw TO STDOUT (FORMAT binary)"));
    if (bytes >= bytes_) return absl::OkStatus();  // the format adds to each row
    return absl::UnavailableError("COPY did not read all rows");
  }

 private:
  Postgres& database_;
  std::unique_ptr<CopyOut> copy_;
  uint64_t bytes_ = 0;
};

class Resume {
 public:
  // `database` is where the server and `plain` keep their rows, if they do.
  Resume(const Plan& plan, Figures& figures, Served& served, Plain& plain, const Postgres* database)
      : plan_(plan),
        figures_(figures),
        served_(served),
        plain_(plain),
        database_(database),
        messages_(plan.Many(kLong, kSmokeLong)) {}

  absl::Status Run() {
    served_.ServeAtFile();  // COPY crosses one too, and cat a pipe
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(plain_.Fill(messages_, kMessageBytes));
    RETURN_IF_ERROR(Fill("long", messages_));
    RETURN_IF_ERROR(Fill("short", kShort));
    const std::string raw = database_ == nullptr ? "cat" : "copy";
    const std::vector<Contender> contenders = {
        Calls("resume-long", kResumes, [this] { return TakeUp("long"); }),
        Calls("resume-short", kResumes, [this] { return TakeUp("short"); }),
        {.name = raw,
         .run =
             [this](uint64_t count) { return OneByOne(count, [this] { return plain_.Read(); }); },
         .database = database_,
         .count = kReads},
        Calls("read", kReads, [this] { return Read(); }),
        EmptyEcho("echo", served_, 1)};
    ASSIGN_OR_RETURN(const auto results,
                     TakeTurns(contenders, {.count = kEchoes, .rounds = plan_.rounds}, figures_));
    const Results& read = results.at("read");
    figures_.Print("resume-long-over-short",
                   MedianRatio(results.at("resume-long").p50_ms, results.at("resume-short").p50_ms),
                   kResume);
    figures_.Print("read-over-" + raw, MedianRatio(results.at(raw).p50_ms, read.p50_ms),
                   database_ == nullptr ? kReadFile : kReadRows);
    if (database_ != nullptr) {
      figures_.Print("read-database-cpu-over-copy",
                     MedianRatio(read.database_us, results.at(raw).database_us));
    }
    figures_.Print("messages", static_cast<double>(messages_));
    for (const auto& [name, values] : results) {
      PrintCosts(figures_, name, values, &results.at("echo"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Fill(const std::string& id, uint64_t messages) {
    ASSIGN_OR_RETURN(
        const auto agent,
        Agent::Make(served_, id, {.messages = 1, .message_bytes = kMessageBytes, .slots = {}}));
    RETURN_IF_ERROR(Drive({agent.get()}, messages).status());
    return agent->Count();
  }

  Contender Calls(std::string name, uint64_t count, std::function<absl::Status()> call) const {
    return {.name = std::move(name),
            .run = [call = std::move(call)](uint64_t calls) { return OneByOne(calls, call); },
            .process = &served_.process(),
            .database = database_,
            .count = count};
  }

  absl::Status TakeUp(const std::string& id) {
    v1::ResumeSessionRequest request;
    request.set_request_id(fresh_.Uuid());
    request.set_session_id(id);
    request.set_holder("bench");
    request.mutable_force()->set_reason("bench");
    grpc::ClientContext context;
    v1::ResumeSessionResponse response;
    const grpc::Status status = served_.sessions().ResumeSession(&context, request, &response);
    return status.ok() ? absl::OkStatus() : FailedCall("ResumeSession", status);
  }

  absl::Status Read() {
    v1::ReadSessionRequest request;
    request.set_session_id("long");
    grpc::ClientContext context;
    const auto stream = served_.sessions().ReadSession(&context, request);
    v1::ReadSessionResponse response;
    uint64_t bytes = 0;
    while (stream->Read(&response)) {
      for (const auto& piece : response.pieces()) bytes += piece.message().data().size();
    }
    const grpc::Status status = stream->Finish();
    if (!status.ok()) return FailedCall("ReadSession", status);
    if (bytes == messages_ * kMessageBytes) return absl::OkStatus();
    return absl::FailedPreconditionError("the history was not read whole");
  }

  const Plan& plan_;
  Figures& figures_;
  Served& served_;
  Plain& plain_;
  const Postgres* const database_;
  const uint64_t messages_;
  FreshBytes fresh_;
};

}  // namespace

absl::Status BenchResumeFs(const Plan& plan, Figures& figures) {
  Served served(plan.holdfastd, plan.directory + "/disk");
  PlainFile plain(plan.directory + "/plain");
  return Resume(plan, figures, served, plain, nullptr).Run();
}

absl::Status BenchResumePg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  Served served(plan.holdfastd, plan.directory + "/server", Keeping::In(database->dsn("store")));
  PlainRows plain(*database);
  return Resume(plan, figures, served, plain, database.get()).Run();
}

}  // namespace holdfast::bench
