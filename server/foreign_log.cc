#include "server/foreign_log.h"

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/stubs/logging.h"
#include <grpc/support/log.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace holdfast {
namespace {

constexpr std::string_view kGrpcAssertion = "assertion failed";

// Threads of the libraries outlive what started them, so they look here for the log.
ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);
Log* current ABSL_GUARDED_BY(mutex) = nullptr;

void Say(LogLevel level, std::string_view source, std::string_view text) {
  const absl::ReaderMutexLock lock(&mutex);
  if (current != nullptr) current->Foreign(level, source, text);
}

// "server_chttp2.cc:25", without the folders of the machine it was built on.
std::string SourcePlace(std::string_view file, int line) {
  return absl::StrCat(std::string(file.substr(file.rfind('/') + 1)), ":", line, ": ");
}

void SayOfGrpc(gpr_log_func_args* said) {
  LogLevel level = LogLevel::kInfo;
  if (said->severity == GPR_LOG_SEVERITY_ERROR) level = LogLevel::kWarning;
  // GPR_ASSERT ends the process behind this.
  if (std::string_view(said->message).starts_with(kGrpcAssertion)) level = LogLevel::kError;
  Say(level, "grpc", SourcePlace(said->file, said->line) + said->message);
}

void SayOfProtobuf(google::protobuf::LogLevel severity, const char* file, int line,
                   const std::string& message) {
  // What is fatal to protobuf ends the process behind this.
  const bool fatal = severity == google::protobuf::LOGLEVEL_FATAL;
  Say(fatal ? LogLevel::kError : LogLevel::kWarning, "protobuf", SourcePlace(file, line) + message);
}

// Called with whole lines, but for one that is longer than the stream's buffer.
ssize_t SayOfStream(void* /*cookie*/, const char* bytes, size_t size) {
  for (std::string_view rest(bytes, size); !rest.empty();) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (!line.empty()) Say(LogLevel::kWarning, "stderr", line);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return static_cast<ssize_t>(size);
}

// Never closed: a thread may be about to write to it.
std::FILE* Stream() {
  static std::FILE* const kStream = [] {
    std::FILE* made = fopencookie(nullptr, "w", {.write = SayOfStream});
    if (made != nullptr) setvbuf(made, nullptr, _IOLBF, BUFSIZ);
    return made;
  }();
  return kStream;
}

// What was in force before.
std::FILE* system_stream = nullptr;
google::protobuf::LogHandler* system_handler = nullptr;

}  // namespace

ForeignLog::ForeignLog(Log& log) {
  {
    const absl::MutexLock lock(&mutex);
    current = &log;
  }
  gpr_set_log_function(SayOfGrpc);
  system_handler = google::protobuf::SetLogHandler(SayOfProtobuf);
  system_stream = stderr;
  // A variable in the GNU C library, which its manual allows to set.
  if (Stream() != nullptr) stderr = Stream();
}

ForeignLog::~ForeignLog() {
  stderr = system_stream;
  gpr_set_log_function(nullptr);  // its own
  google::protobuf::SetLogHandler(system_handler);
  const absl::MutexLock lock(&mutex);
  current = nullptr;
}

}  // namespace holdfast
