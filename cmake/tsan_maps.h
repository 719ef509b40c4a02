// Comes first in what is compiled for ThreadSanitizer and sees messages. With that sanitizer their
// maps have two members more in the header than in the system's library, which was built without
// it: both then read the same map's arena from different places.
#include <string>  // the C++ library looks at the macro too, and must see it

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
