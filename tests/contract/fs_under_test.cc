#include "tests/contract/fs_under_test.h"

#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/faulty_store.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <utility>

namespace holdfast::test {
namespace {

class FsUnderTest final : public StoreUnderTest {
 public:
  explicit FsUnderTest(bool grouped) : grouped_(grouped) {}

  std::unique_ptr<SessionStore> Make() override {
    std::unique_ptr<SessionStore> store = MakeAt(Root("root"));
    if (!grouped_) return store;
    auto in_groups = std::make_unique<FaultyStore>(std::move(store));
    in_groups->CommitInGroups();
    return in_groups;
  }

  // A session of another root, copied in as a hand would.
  StoreId PlantForeign(const SessionKey& key) override {
    const std::unique_ptr<SessionStore> other = MakeAt(Root("other"));
    EXPECT_TRUE(other->Init().ok() && other->Activate().ok());
    EXPECT_TRUE(other->Commit(Changes(key, random()).Create()).ok());
    const StoreId id = other->Describe().store;
    EXPECT_TRUE(other->Deactivate().ok());
    other->Dispose();
    std::filesystem::create_directories((Root("root") / fs::DirectoryOf(key)).parent_path());
    std::filesystem::copy(Root("other") / fs::DirectoryOf(key), Root("root") / fs::DirectoryOf(key),
                          std::filesystem::copy_options::recursive);
    return id;
  }

  StoreId Restamp(const SessionKey& key) override {
    const std::filesystem::path manifest = ManifestOf(key);
    std::string text = ReadFile(manifest);
    const StoreId other = *StoreId::Parse(UuidText(random().Bytes(16), 4));
    const std::string name = "\"storeId\": \"";
    const size_t at = text.find(name) + name.size();
    text.replace(at, other.value().size(), other.value());
    WriteFile(manifest, text);
    return other;
  }

  void Damage(const SessionKey& key) override {
    std::string text = ReadFile(ManifestOf(key));
    text[text.size() / 2] ^= 1;
    WriteFile(ManifestOf(key), text);
  }

  // The tests run as a user whom no mode stops: a file in the place of a directory does.
  void MakeUnwritable() override {
    std::filesystem::remove_all(Root("root") / "tmp");
    WriteFile(Root("root") / "tmp", "");
  }

  void BreakWrites() override { broken_ = true; }
  void MendWrites() override { broken_ = false; }

 private:
  [[nodiscard]] std::filesystem::path Root(const std::string& name) const {
    return directory_.path() / name;
  }
  [[nodiscard]] std::filesystem::path ManifestOf(const SessionKey& key) const {
    return Root("root") / fs::DirectoryOf(key) / "manifest.json";
  }
  std::unique_ptr<SessionStore> MakeAt(const std::filesystem::path& root) {
    fs::FsOptions options;
    options.root = root;
    options.item_bounds = item_bounds();
    options.retention = retention();
    options.wrap_files = BreakBy([this](const FileOperation& asked) {
      return broken_ && asked.name == "sync" ? absl::UnavailableError("broken") : absl::OkStatus();
    });
    return fs::MakeFsStore(std::move(options), clock(), random());
  }

  const bool grouped_;
  TempDir directory_;
  std::atomic<bool> broken_ = false;
};

}  // namespace

std::unique_ptr<StoreUnderTest> MakeFsUnderTest() {
  return std::make_unique<FsUnderTest>(/*grouped=*/false);
}

std::unique_ptr<StoreUnderTest> MakeGroupedFsUnderTest() {
  return std::make_unique<FsUnderTest>(/*grouped=*/true);
}

}  // namespace holdfast::test
