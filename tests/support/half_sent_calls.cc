#include "tests/support/half_sent_calls.h"

#include "absl/time/time.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::testing {
namespace {

constexpr char kEcho[] = "/holdfast.v1.AdminService/Echo";
// The most that a frame carries where no setting says otherwise.
constexpr int64_t kFrameBytes = 16'384;
// What is never sent of a request.
constexpr uint32_t kWithheldBytes = 1;

}  // namespace

HalfSentCalls::HalfSentCalls(const std::string& address, const std::string& source, size_t calls,
                             uint32_t bytes)
    : bytes_(bytes), socket_(address, source) {
  std::string opening = http2::Opening();
  for (size_t i = 0; i < calls; ++i) opening += Begin();
  connected_ = socket_.connected() && socket_.Send(opening);
}

std::string HalfSentCalls::Begin() {
  const uint32_t stream = next_;
  next_ += 2;
  calls_[stream] = {.window = initial_window_, .left = bytes_ - kWithheldBytes};
  return http2::Headers(stream, kEcho);
}

bool HalfSentCalls::Send() {
  if (!connected_) return false;
  Receive();
  std::string frames = std::exchange(due_, "");
  for (auto& [stream, call] : calls_) frames += DataOf(stream, call);
  connected_ = connected_ && socket_.Send(frames);
  return connected_;
}

std::string HalfSentCalls::DataOf(uint32_t stream, Call& call) {
  std::string frames;
  while (true) {
    const std::string prefix = call.begun ? "" : http2::MessagePrefix(bytes_);
    const auto before = static_cast<int64_t>(prefix.size());
    const int64_t most = std::min({window_, call.window, kFrameBytes}) - before;
    const int64_t bytes = std::min<int64_t>(most, call.left);
    if (bytes <= 0) return frames;
    frames += http2::Data(stream, prefix + std::string(static_cast<size_t>(bytes), 'x'));
    call.begun = true;
    call.left -= static_cast<uint32_t>(bytes);
    call.window -= before + bytes;
    window_ -= before + bytes;
    sent_bytes_ += static_cast<size_t>(bytes);
  }
}

void HalfSentCalls::Receive() {
  if (!socket_.Receive(absl::ZeroDuration(), received_)) connected_ = false;
  while (const std::optional<http2::Frame> frame = http2::TakeFrame(received_)) Take(*frame);
}

void HalfSentCalls::Take(const http2::Frame& frame) {
  const bool asks = frame.type == http2::Frame::kPing || frame.type == http2::Frame::kSettings;
  if (asks && !frame.acknowledges) due_ += http2::Acknowledge(frame);
  if (frame.type == http2::Frame::kSettings) {
    const int64_t window = http2::InitialWindow(frame).value_or(initial_window_);
    for (auto& [stream, call] : calls_) call.window += window - initial_window_;
    initial_window_ = window;
  } else if (frame.type == http2::Frame::kWindowUpdate) {
    const int64_t more = http2::NumberAt(frame.payload, 0);
    const auto call = calls_.find(frame.stream);
    if (frame.stream == 0) window_ += more;
    if (call != calls_.end()) call->second.window += more;
  }
}

}  // namespace holdfast::testing
