// A directory of a test's own, removed with everything in it when the test ends.
#ifndef HOLDFAST_TESTS_SUPPORT_TEMP_DIR_H_
#define HOLDFAST_TESTS_SUPPORT_TEMP_DIR_H_

#include <filesystem>
#include <string>

namespace holdfast::test {

class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // A path inside it; nothing is made.
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The whole file; empty when it cannot be read.
std::string ReadFile(const std::filesystem::path& path);
// Replaces the file.
void WriteFile(const std::filesystem::path& path, const std::string& bytes);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_TEMP_DIR_H_
