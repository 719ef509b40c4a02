// A process that has no room for large objects. Preloaded into it, this lets `new` throw
// std::bad_alloc for everything of at least a mebibyte while the file $HOLDFAST_NO_ROOM exists.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <unistd.h>

namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;

bool HasNoRoom() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  static const char* const kFile = std::getenv("HOLDFAST_NO_ROOM");
  return kFile != nullptr && access(kFile, F_OK) == 0;
}

}  // namespace

__attribute__((visibility("default"))) void* operator new(std::size_t size) {
  void* const found = size >= kLarge && HasNoRoom() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}

// What comes of malloc goes to free, also where a sanitizer has an operator of its own.
__attribute__((visibility("default"))) void operator delete(void* object) noexcept {
  std::free(object);
}
__attribute__((visibility("default"))) void operator delete(void* object, std::size_t) noexcept {
  std::free(object);
}
