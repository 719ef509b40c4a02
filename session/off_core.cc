#include "session/off_core.h"

#include "session/thread_check.h"

namespace holdfast {
namespace {

thread_local OffCore::Sharer* sharer_of_this_thread = nullptr;
thread_local int depth = 0;

}  // namespace

OffCore::OffCore(Back back) : back_(back) {
  AssertOffTransport("a wait");
  if (depth++ == 0 && sharer_of_this_thread != nullptr) sharer_of_this_thread->Leave();
}

OffCore::~OffCore() {
  if (--depth > 0 || sharer_of_this_thread == nullptr) return;
  sharer_of_this_thread->Return(back_);
}

void OffCore::TellOfThisThread(Sharer& sharer) { sharer_of_this_thread = &sharer; }

}  // namespace holdfast
