// A value that must not be shown: a password, a token, a key.
#ifndef HOLDFAST_SERVER_SECRET_H_
#define HOLDFAST_SERVER_SECRET_H_

#include <ostream>
#include <string>
#include <utility>

namespace holdfast {

// Prints as stars; code that needs the value has to ask for it by name.
class Secret final {
 public:
  explicit Secret(std::string value) : value_(std::move(value)) {}

  [[nodiscard]] const std::string& Reveal() const { return value_; }

  friend std::ostream& operator<<(std::ostream& out, const Secret&) { return out << "***"; }

 private:
  std::string value_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SECRET_H_
