// The switches of a test build. Each makes the program behave as a former one did, which some
// ordinary tests need beside the present one. A release has none of them.
//
// Broken guarantees are no switches: tests/saboteurs mutates the source instead.
#ifndef HOLDFAST_SESSION_SABOTEUR_H_
#define HOLDFAST_SESSION_SABOTEUR_H_

#include <cstdint>

namespace holdfast {

enum class Saboteur : uint8_t {
  kNone,
  kNoBounds,       // a session grows beyond its bounds, as before there were any
  kOneStepBehind,  // the program does not know the newest step of the schema, as the one before
};

// Whether this build has the switches.
extern const bool kTestBuild;

// The switch that $HOLDFAST_SABOTEUR names ("no_bounds"), read once; kNone in a release. A test
// build aborts at an unknown name: a test must not pass because of a misspelt one. Any thread may
// call.
Saboteur ActiveSaboteur();

inline bool Sabotaged(Saboteur by) { return ActiveSaboteur() == by; }

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SABOTEUR_H_
