// The stores that a configuration names: made by kind, opened, and closed again. The only place
// that knows which kinds there are.
#ifndef HOLDFAST_SERVER_STORES_H_
#define HOLDFAST_SERVER_STORES_H_

#include "platform/clock.h"
#include "server/config.h"
#include "server/log.h"
#include "session/store.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {

class StoreMeter;

// How many descriptors the enabled stores may have open at once.
size_t DescriptorsOf(const Config& config);

// Makes a store of the configured kind, without opening it. `clock` and `random` outlive the store.
using StoreMaker = std::function<absl::StatusOr<std::unique_ptr<SessionStore>>(
    const StoreConfig& config, const Clock& clock, Random& random)>;

// The maker for every kind that is built in; INVALID_ARGUMENT for any other. Each store keeps what
// `retention` says. What the stores report to the operator goes to `log`, and what the active one
// reports of its work to `meter`; both must outlive them.
StoreMaker MakerOfStores(const Retention& retention, Log& log, StoreMeter& meter);

// Why `dsn` names no database that a store may be in, empty if it does. Never says what it is, for
// it may hold a secret.
std::string DatabaseProblem(const std::string& dsn);

// Why the identity of the server that `dsn` leads to is not verified, empty if it is.
std::string DatabaseTransportProblem(const std::string& dsn);

// Takes over the active store where it was copied or restored: raises its incarnation, which
// distinguishes tokens and cursors of before. Harmless for a directory that was not; a database
// cannot detect a copy, and raises it in any case. Returns the description of the store afterwards.
absl::StatusOr<StoreDescription> AdoptStore(const Config& config, const Clock& clock,
                                            Random& random);

// The enabled stores, opened. The active one never changes.
class Stores {
 public:
  // Only Open can make one.
  class Key {
    friend class Stores;
    Key() = default;
  };
  Stores(Key, Log& log) : log_(log) {}
  // Opens every enabled store and activates the active one. Its failure is the error, with a
  // diagnostic for the operator: there is no fallback. Another store's failure is a warning.
  static absl::StatusOr<std::unique_ptr<Stores>> Open(const Config& config, const StoreMaker& make,
                                                      const Clock& clock, Random& random, Log& log);
  ~Stores() { Close(); }
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;

  [[nodiscard]] SessionStore& active() { return *active_; }
  // What an operator should know.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  // Waits for the changes under way; the active store takes no more. More than once is harmless.
  void Deactivate();
  // The same, and closes everything. More than once is harmless.
  void Close();

 private:
  Log& log_;
  std::vector<std::unique_ptr<SessionStore>> opened_;
  SessionStore* active_ = nullptr;  // one of `opened_`; nullptr once it is deactivated
  std::vector<std::string> warnings_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_STORES_H_
