// The way to one server.
#ifndef HOLDFAST_CLI_CONNECTION_H_
#define HOLDFAST_CLI_CONNECTION_H_

#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/item_service.grpc.pb.h"
#include "holdfast/v1/session_service.grpc.pb.h"
#include "holdfast/v1/store_service.grpc.pb.h"

#include "grpc/health/v1/health.grpc.pb.h"

#include <memory>
#include <string>

namespace holdfast::cli {

using Sessions = v1::SessionService::StubInterface;

// Connects when it is first used and again whenever the server has been gone. Any thread may call.
class Connection final {
 public:
  explicit Connection(const std::string& address);

  [[nodiscard]] Sessions& sessions() const { return *sessions_; }
  [[nodiscard]] v1::StoreService::StubInterface& store() const { return *store_; }
  [[nodiscard]] v1::ItemService::StubInterface& items() const { return *items_; }
  [[nodiscard]] v1::AdminService::StubInterface& admin() const { return *admin_; }
  [[nodiscard]] grpc::health::v1::Health::StubInterface& health() const { return *health_; }

 private:
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<v1::StoreService::StubInterface> store_;
  std::unique_ptr<v1::ItemService::StubInterface> items_;
  std::unique_ptr<v1::AdminService::StubInterface> admin_;
  std::unique_ptr<grpc::health::v1::Health::StubInterface> health_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_CONNECTION_H_
