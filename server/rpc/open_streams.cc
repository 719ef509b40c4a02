#include "server/rpc/open_streams.h"

namespace holdfast {

void OpenStreams::Add(OpenStream* stream) {
  const absl::MutexLock lock(&mutex_);
  streams_.insert(stream);
  if (draining_) stream->Drain();
}

void OpenStreams::Remove(OpenStream* stream) {
  const absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

void OpenStreams::DrainAll() {
  const absl::MutexLock lock(&mutex_);
  draining_ = true;
  for (OpenStream* stream : streams_) stream->Drain();
}

}  // namespace holdfast
