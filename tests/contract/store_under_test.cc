#include "tests/contract/store_under_test.h"

#include <gtest/gtest.h>

namespace holdfast::test {

void StoreUnderTest::Open() {
  store_ = Make();
  ASSERT_TRUE(store_->Init().ok());
  ASSERT_TRUE(store_->Activate().ok());
}

void StoreUnderTest::Close() {
  if (store_ == nullptr) return;
  EXPECT_TRUE(store_->Deactivate().ok());
  store_->Dispose();
  store_.reset();
}

}  // namespace holdfast::test
