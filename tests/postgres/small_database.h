// A database on a real file system of a few megabytes, which a test fills up.
#ifndef HOLDFAST_TESTS_POSTGRES_SMALL_DATABASE_H_
#define HOLDFAST_TESTS_POSTGRES_SMALL_DATABASE_H_

#include "store-postgres/admin/migrate.h"
#include "tests/support/postgres.h"
#include "tests/support/small_disk.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include <fcntl.h>
#include <filesystem>
#include <pwd.h>
#include <random>
#include <string>
#include <unistd.h>

namespace holdfast::testing {

// A message of this size is more than what is left on a full disk. Compression finds nothing in it.
inline std::string MegabyteOfNoise() {
  constexpr size_t kBytes = size_t{600} * 1024;
  std::mt19937_64 random{7};
  std::string bytes;
  while (bytes.size() < kBytes) bytes.push_back(static_cast<char>(random() & 0xff));
  return absl::Base64Escape(bytes);
}

// Takes all that is left of the disk that `directory` is on; given back by Free.
class DiskFiller final {
 public:
  explicit DiskFiller(const std::filesystem::path& directory) : file_(directory / "filler") {
    const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string chunk(4096, 'x');
    while (write(file, chunk.data(), chunk.size()) > 0) {
    }
    close(file);
  }
  void Free() const { std::filesystem::remove(file_); }

 private:
  const std::filesystem::path file_;
};

// The database `small`, with a store, on a disk of its own.
class SmallDatabase final {
 public:
  // In a cluster that is up, and is gone before this.
  void MakeIn(const OwnPostgres& postgres) const {
    const std::filesystem::path space = disk_.path() / "space";
    std::filesystem::create_directory(space);
    const passwd* const owner = getpwnam("postgres");
    ASSERT_NE(owner, nullptr);
    ASSERT_EQ(chown(space.c_str(), owner->pw_uid, owner->pw_gid), 0);
    const auto connection = Connect(postgres.dsn());
    ASSERT_EQ(connection->Script("CREATE TABLESPACE small LOCATION '" + space.string() + "'"),
              absl::OkStatus());
    ASSERT_EQ(connection->Script("CREATE DATABASE small TABLESPACE small"), absl::OkStatus());
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres.dsn(kName))).ok());
  }
  [[nodiscard]] std::filesystem::path disk() const { return disk_.path(); }

  static constexpr char kName[] = "small";

 private:
  const test::SmallDisk disk_{"40m"};
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_POSTGRES_SMALL_DATABASE_H_
