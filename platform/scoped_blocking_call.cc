#include "platform/scoped_blocking_call.h"

#include "platform/thread_check.h"

namespace holdfast {
namespace {

thread_local ScopedBlockingCall::Observer* observer_of_this_thread = nullptr;
thread_local int depth_of_this_thread = 0;

}  // namespace

ScopedBlockingCall::ScopedBlockingCall(Resume resume) : resume_(resume) {
  AssertOffTransport("a wait");
  if (depth_of_this_thread++ == 0 && observer_of_this_thread != nullptr) {
    observer_of_this_thread->BlockingStarted();
  }
}

ScopedBlockingCall::~ScopedBlockingCall() {
  if (--depth_of_this_thread > 0 || observer_of_this_thread == nullptr) return;
  observer_of_this_thread->BlockingEnded(resume_);
}

void ScopedBlockingCall::ObserveThisThread(Observer& observer) {
  observer_of_this_thread = &observer;
}

}  // namespace holdfast
