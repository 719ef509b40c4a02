// The classes of CLI11 that headers name. A source that includes the library itself takes seven
// seconds longer to compile, because the library's constants instantiate most of it.
#ifndef HOLDFAST_CLI_CLI11_NAMES_H_
#define HOLDFAST_CLI_CLI11_NAMES_H_

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
class Option;
}  // namespace CLI

#endif  // HOLDFAST_CLI_CLI11_NAMES_H_
