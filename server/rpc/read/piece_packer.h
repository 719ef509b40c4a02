// The pieces of a read on their way to the transport.
#ifndef HOLDFAST_SERVER_RPC_READ_PIECE_PACKER_H_
#define HOLDFAST_SERVER_RPC_READ_PIECE_PACKER_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/wire.h"
#include "session/limits.h"

#include "google/protobuf/arena.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Takes pieces in their order.
class PieceSink {
 public:
  PieceSink() = default;
  PieceSink(const PieceSink&) = delete;
  PieceSink& operator=(const PieceSink&) = delete;
  virtual ~PieceSink() = default;

  // An empty piece to be filled before the next call. It will take about `bytes`.
  virtual pb::SessionPiece& Add(size_t bytes) = 0;
};

// Packs as many pieces into a response as make it as large as the transport likes them. A piece is
// made once, in an arena that all responses use in turn. Used by one thread at a time.
template <typename Response>
class PiecePacker final : public PieceSink {
 public:
  pb::SessionPiece& Add(size_t bytes) override {
    if (room_ < bytes) Finish();
    room_ -= std::min(room_, bytes);
    return *response_->add_pieces();
  }

  // The responses since the last call, as they cross the wire.
  std::vector<Bytes> Take() {
    Finish();
    return std::exchange(packed_, {});
  }

 private:
  void Finish() {
    if (response_->pieces_size() > 0) packed_.push_back(ToBytes(*response_));
    arena_.Reset();
    response_ = google::protobuf::Arena::CreateMessage<Response>(&arena_);
    room_ = kReadResponseBytes;
  }

  google::protobuf::Arena arena_;
  Response* response_ = google::protobuf::Arena::CreateMessage<Response>(&arena_);
  size_t room_ = kReadResponseBytes;
  std::vector<Bytes> packed_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_PIECE_PACKER_H_
