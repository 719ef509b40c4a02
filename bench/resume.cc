// resume-fs, resume-pg: taking up a session with a long history against one with a short one, and
// streaming the long history against reading as many bytes raw: a file with cat, rows with COPY.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/copy_out.h"
#include "bench/pgbench.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "bench/timing.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
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
constexpr Goal kResume = AtMost(1.1);
constexpr Goal kRead = AtLeast(0.5);

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
  // `raw` is what `plain` is called in figures.
  Resume(const Plan& plan, Figures& figures, Served& served, Plain& plain, std::string raw)
      : plan_(plan),
        figures_(figures),
        served_(served),
        plain_(plain),
        raw_(std::move(raw)),
        messages_(plan.Many(kLong, kSmokeLong)) {}

  absl::Status Run() {
    served_.ServeAtFile();  // COPY crosses one too, and cat a pipe
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(plain_.Fill(messages_, kMessageBytes));
    RETURN_IF_ERROR(Fill("long", messages_));
    RETURN_IF_ERROR(Fill("short", kShort));
    for (size_t round = 1; round <= plan_.rounds; ++round) {
      RETURN_IF_ERROR(RunRound(round));
    }
    figures_.Print("resume-long-over-short", MedianRatio(resumes_long_, resumes_short_), kResume);
    figures_.Print("read-over-" + raw_, MedianRatio(raws_, reads_), kRead);
    figures_.Print("messages", static_cast<double>(messages_));
    figures_.Print("resume-long-ms", Median(resumes_long_));
    figures_.Print("resume-short-ms", Median(resumes_short_));
    figures_.Print("read-ms", Median(reads_));
    figures_.Print(raw_ + "-ms", Median(raws_));
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

  absl::Status RunRound(size_t round) {
    const bool odd = round % 2 == 1;
    for (const char* id : {odd ? "long" : "short", odd ? "short" : "long"}) {
      const bool is_long = std::string(id) == "long";
      ASSIGN_OR_RETURN(const double took, MedianMilliseconds(kResumes, [&] { return TakeUp(id); }));
      figures_.Keep(round, std::string("resume-") + id, "ms", took,
                    is_long ? resumes_long_ : resumes_short_);
    }
    ASSIGN_OR_RETURN(const double raw, MedianMilliseconds(kReads, [&] { return plain_.Read(); }));
    figures_.Keep(round, raw_, "ms", raw, raws_);
    ASSIGN_OR_RETURN(const double read, MedianMilliseconds(kReads, [&] { return Read(); }));
    figures_.Keep(round, "read", "ms", read, reads_);
    return absl::OkStatus();
  }

  absl::Status TakeUp(const std::string& id) {
    v1::ResumeSessionRequest request;
    request.set_request_id(fresh_.Uuid());
    request.set_session_id(id);
    request.set_holder("bench");
    request.set_force(true);
    request.set_force_reason("bench");
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
  const std::string raw_;
  const uint64_t messages_;
  FreshBytes fresh_;
  std::vector<double> resumes_long_;
  std::vector<double> resumes_short_;
  std::vector<double> reads_;
  std::vector<double> raws_;
};

}  // namespace

absl::Status BenchResumeFs(const Plan& plan, Figures& figures) {
  Served served(plan.holdfastd, plan.directory + "/disk");
  PlainFile plain(plan.directory + "/plain");
  return Resume(plan, figures, served, plain, "cat").Run();
}

absl::Status BenchResumePg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  Served served(plan.holdfastd, plan.directory + "/server", Keeping::In(database->dsn("store")));
  PlainRows plain(*database);
  return Resume(plan, figures, served, plain, "copy").Run();
}

}  // namespace holdfast::bench
