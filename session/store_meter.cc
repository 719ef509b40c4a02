#include "session/store_meter.h"

namespace holdfast {

StoreMeter& StoreMeter::None() {
  static StoreMeter none;
  return none;
}

}  // namespace holdfast
