#include "cli/file_stream.h"

#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

FileBuffer::FileBuffer(int descriptor) : descriptor_(descriptor) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

FileBuffer::int_type FileBuffer::overflow(int_type next) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(next, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(next);
    pbump(1);
  }
  return traits_type::not_eof(next);
}

int FileBuffer::sync() {
  const char* from = pbase();
  while (error_ == 0 && from != pptr()) {
    const ssize_t written = write(descriptor_, from, static_cast<size_t>(pptr() - from));
    if (written >= 0) {
      from += written;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  errno = error_;
  return error_ == 0 ? 0 : -1;
}

std::string FlushProblem(std::ostream& out) {
  errno = 0;
  // Not flush(): a stream that has failed would not ask the buffer, which knows the cause.
  const bool flushed = out.rdbuf()->pubsync() == 0;
  if (flushed && out.good()) return "";
  return errno == 0 ? "the stream has failed" : std::generic_category().message(errno);
}

}  // namespace holdfast::cli
