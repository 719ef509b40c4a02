// The version of this build; CMakeLists.txt states the same.
#ifndef HOLDFAST_SERVER_VERSION_H_
#define HOLDFAST_SERVER_VERSION_H_

namespace holdfast {

inline constexpr char kVersion[] = "0.1.0";

// Whether guarantees of this build can be switched off for a test (session/saboteur.h).
#ifdef HOLDFAST_SABOTEURS
inline constexpr bool kTestBuild = true;
#else
inline constexpr bool kTestBuild = false;
#endif

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_VERSION_H_
