// Standard output that says when it could not be written, and why.
#ifndef HOLDFAST_CLI_FILE_STREAM_H_
#define HOLDFAST_CLI_FILE_STREAM_H_

#include <array>
#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>

namespace holdfast::cli {

// Writes to a descriptor. After the first failure it writes nothing more, and every flush fails
// with `errno` as it was then.
class FileBuffer final : public std::streambuf {
 public:
  // `descriptor` must stay open.
  explicit FileBuffer(int descriptor);
  FileBuffer(const FileBuffer&) = delete;
  FileBuffer& operator=(const FileBuffer&) = delete;
  ~FileBuffer() override { sync(); }

 protected:
  int_type overflow(int_type next) override;
  int sync() override;

 private:
  static constexpr size_t kBytes = 64 * std::size_t{1024};

  const int descriptor_;
  int error_ = 0;
  std::array<char, kBytes> bytes_{};
};

// Sends what `out` still holds. Empty when all of it was written, else the cause in words.
std::string FlushProblem(std::ostream& out);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_FILE_STREAM_H_
