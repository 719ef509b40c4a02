#include "tests/contract/store_under_test.h"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::test {

void StoreUnderTest::Open() {
  store_ = Make();
  ASSERT_TRUE(store_->Init().ok());
  ASSERT_TRUE(store_->Activate().ok());
  // The cases see a store that has found out what it holds.
  const ListQuery anything{.tenant = *TenantId::Parse("default"), .limit = 1};
  for (auto page = store_->List(anything); page.ok() && !page->complete;) {
    std::this_thread::yield();
    page = store_->List(anything);
  }
}

void StoreUnderTest::Close() {
  if (store_ == nullptr) return;
  EXPECT_TRUE(store_->Deactivate().ok());
  store_->Dispose();
  store_.reset();
}

}  // namespace holdfast::test
