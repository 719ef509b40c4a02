#include "tests/postgres/held_writes.h"

#include "tests/support/wait.h"

#include <gtest/gtest.h>

#include <utility>

namespace holdfast::test {

HeldWrites::HeldWrites(StoreDatabase& database)
    : lock_(holdfast::testing::Connect(database.dsn())) {
  EXPECT_EQ(lock_->Script("BEGIN; LOCK TABLE holdfast.session IN EXCLUSIVE MODE"),
            absl::OkStatus());
}

void HeldWrites::Start(std::function<void()> write) {
  threads_.emplace_back([this, write = std::move(write)] {
    OffCore::TellOfThisThread(waiting_);
    write();
  });
  EXPECT_TRUE(holdfast::testing::WaitUntil([this] { return waiting_.now == threads_.size(); }));
}

void HeldWrites::Release() {
  EXPECT_EQ(lock_->Script("COMMIT"), absl::OkStatus());
  threads_.clear();
}

}  // namespace holdfast::test
