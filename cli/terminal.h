// The terminal that the output goes to: its width, and whether it shows colour.
#ifndef HOLDFAST_CLI_TERMINAL_H_
#define HOLDFAST_CLI_TERMINAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

// What is no terminal counts as 80 columns wide.
struct Terminal {
  bool present = false;
  std::size_t columns = 80;
};

// The terminal behind `descriptor`.
Terminal DescribeTerminal(int descriptor);

enum class ColorChoice : uint8_t { kAuto, kAlways, kNever };

// Whether output for `terminal` has colour. `kAuto` means: on a terminal, unless the environment
// variable NO_COLOR is set and not empty, or TERM is `dumb`.
bool UsesColor(ColorChoice choice, const Terminal& terminal);

enum class Style : uint8_t { kBold, kDim, kRed, kGreen, kYellow, kMagenta, kCyan };

// Adds styles where there is colour.
class Painter final {
 public:
  explicit Painter(bool color) : color_(color) {}

  // `text`, which is printable, in `style`; without colour `text` itself.
  [[nodiscard]] std::string Paint(Style style, std::string_view text) const;

 private:
  bool color_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_TERMINAL_H_
