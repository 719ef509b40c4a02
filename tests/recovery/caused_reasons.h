// The reasons that real servers were made to refuse each method with, beside those that the protos
// declare.
#ifndef HOLDFAST_TESTS_RECOVERY_CAUSED_REASONS_H_
#define HOLDFAST_TESTS_RECOVERY_CAUSED_REASONS_H_

#include "tests/support/raw_client.h"

#include "google/protobuf/descriptor.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {

// For one thread.
class CausedReasons final {
 public:
  // A method and a reason.
  using Row = std::pair<std::string, std::string>;

  CausedReasons();

  // In the order of the reference.
  [[nodiscard]] static std::vector<const google::protobuf::MethodDescriptor*> MethodsWith(
      const std::string& reason);

  // A call that was to be refused with the reason of `wanted` was refused with `reason`; OK when it
  // was not refused.
  void Note(const Row& wanted, const std::string& reason);
  // Every refusal in the log of a server.
  void NoteLog(const std::string& log);

  [[nodiscard]] bool IsCaused(const Row& row) const { return caused_.contains(row); }
  [[nodiscard]] const std::set<Row>& declared() const { return declared_; }
  // The declared rows that were not caused, and the other way round.
  [[nodiscard]] std::set<Row> Missing() const;
  [[nodiscard]] std::set<Row> Undeclared() const;
  // Each of `rows` on a line, and what came instead.
  [[nodiscard]] std::string Describe(const std::set<Row>& rows) const;

 private:
  std::set<Row> declared_;
  std::set<Row> caused_;
  std::map<Row, std::string> instead_;
};

// Calls of any method over one connection.
class RefusedCalls final {
 public:
  // `caused` must outlive it.
  RefusedCalls(const std::string& address, CausedReasons& caused)
      : raw_(address), caused_(caused) {}

  // Sends `requests` as those of one call of `method`, which is to be refused with `reason`.
  void Send(const google::protobuf::MethodDescriptor& method, const std::string& reason,
            const std::vector<std::string>& requests, const std::string& metadata = "");

 private:
  RawClient raw_;
  CausedReasons& caused_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_RECOVERY_CAUSED_REASONS_H_
