#include "platform/thread_check.h"

#ifdef HOLDFAST_THREAD_CHECKS
#include <cstdio>
#include <cstdlib>
#endif

namespace holdfast {

#ifdef HOLDFAST_THREAD_CHECKS

namespace {

thread_local int transport_scopes = 0;

}  // namespace

TransportThread::TransportThread() { ++transport_scopes; }
TransportThread::~TransportThread() { --transport_scopes; }

void AssertOffTransport(const char* work) {
  if (transport_scopes == 0) return;
  (void)std::fprintf(stderr, "holdfast: %s on a thread of the transport\n", work);
  std::abort();
}

bool ThreadChecksEnabled() { return true; }

#else

TransportThread::TransportThread() = default;
TransportThread::~TransportThread() = default;

void AssertOffTransport(const char* /*work*/) {}

bool ThreadChecksEnabled() { return false; }

#endif

}  // namespace holdfast
