// The version of this build; CMakeLists.txt states the same.
#ifndef HOLDFAST_SERVER_VERSION_H_
#define HOLDFAST_SERVER_VERSION_H_

namespace holdfast {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_VERSION_H_
