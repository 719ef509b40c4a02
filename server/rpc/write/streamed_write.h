// A write that comes piece by piece, without its transport: pieces in, one reply out.
//
// `Kind` says what is written (a turn's commit, a snapshot without a turn):
//
//   using Request, Response, Command   // of the wire and of the domain
//   static auto* Begin(Request&)                                 // the first part, or nullptr
//   static absl::StatusOr<Command> Read(auto& begin)              // takes it apart
//   static absl::StatusOr<MutationResult> Do(Sessions&, const Caller&, const Command&)
#ifndef HOLDFAST_SERVER_RPC_WRITE_STREAMED_WRITE_H_
#define HOLDFAST_SERVER_RPC_WRITE_STREAMED_WRITE_H_

#include "holdfast/v1/session_service.pb.h"
#include "platform/status_macros.h"
#include "server/rpc/call/call.h"
#include "server/rpc/convert/contents.h"
#include "server/rpc/write/staged_budget.h"
#include "server/rpc/write/staged_items.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/sessions.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Takes a part that belongs to any streamed write into `items`. INVALID_FIELD for one that has no
// place there.
absl::Status TakeItem(pb::Message& message, StagedItems& items);
absl::Status TakeItem(pb::Slot& slot, StagedItems& items);

// An upload that is under way, with its share of the bytes that may be staged.
struct StagedUpload {
  StagedUpload(StagedBudget& budget, const StagedItems::Parts& parts, SessionKey key,
               uint64_t announced)
      : share(budget, announced), items(parts, std::move(key), announced) {}

  StagedBudget::Share share;
  StagedItems items;
};

// The bytes that a piece adds to an upload.
template <typename Request>
size_t BytesIn(const Request& piece) {
  if (piece.has_message()) return piece.message().data().size();
  if (piece.has_slot()) return piece.slot().data().size();
  return piece.has_chunk() ? piece.chunk().size() : 0;
}

// Used by one thread at a time; Take and GiveUp block as the store does.
template <typename Kind>
class StreamedWrite {
 public:
  // All must outlive this.
  StreamedWrite(Edge& edge, Sessions& sessions, Call& call)
      : edge_(edge), sessions_(sessions), call_(call) {}

  // Takes the piece apart. The reply, when it was the last one that is needed. INVALID_FIELD for a
  // piece out of order; OVERLOADED when too much is staged already; otherwise as the unary call.
  // After an error only GiveUp may follow.
  absl::StatusOr<std::optional<MutationResult>> Take(typename Kind::Request& piece) {
    auto* const begin = Kind::Begin(piece);
    if ((begin != nullptr) == (upload_ != nullptr)) {
      return InvalidField(Kind::kBegin, "must be the first part, and only that");
    }
    if (begin != nullptr) return TakeBegin(*begin);
    if (piece.has_end()) return TakeEnd(piece.end());
    StagedItems& items = upload_->items;
    RETURN_IF_ERROR(upload_->share.Cover(items.bytes() + BytesIn(piece)));
    absl::Status taken = InvalidField("part", "must be set");
    if (piece.has_message()) taken = TakeItem(*piece.mutable_message(), items);
    if (piece.has_slot()) taken = TakeItem(*piece.mutable_slot(), items);
    if (piece.has_chunk()) taken = items.More(piece.chunk());
    RETURN_IF_ERROR(taken);
    return std::nullopt;
  }

  // Drops what was staged and not linked. Called last.
  void GiveUp() {
    if (const auto upload = LeaveUpload()) upload->items.Drop();
  }
  // What was staged and not linked, to be dropped by the caller; nullptr if there is nothing.
  std::unique_ptr<StagedUpload> LeaveUpload() { return std::move(upload_); }

  // Hands what it holds in memory to the store; to be called between two pieces.
  absl::Status Flush() { return upload_ == nullptr ? absl::OkStatus() : upload_->items.Flush(); }

  // What it takes in memory between two pieces, about.
  [[nodiscard]] size_t HeldBytes() const {
    return upload_ == nullptr ? 0 : upload_->items.HeldBytes();
  }

 private:
  template <typename Begin>
  absl::StatusOr<std::optional<MutationResult>> TakeBegin(Begin& begin) {
    const auto announced = static_cast<uint64_t>(begin.data_bytes());
    if (announced > kSnapshotBytes) return TooLarge("data_bytes", kSnapshotBytes, announced);
    ASSIGN_OR_RETURN(command_, Kind::Read(begin));
    if (!command_.messages.empty() || !command_.slots.empty()) {
      return InvalidField(Kind::kBegin, "must come without messages and slots, which follow");
    }
    call_.NameSession(command_.session.value());
    ASSIGN_OR_RETURN(std::optional<MutationResult> result,
                     sessions_.Precheck(call_.caller(), command_));
    if (result) return result;
    const StagedItems::Parts parts{
        .store = sessions_.store(), .random = edge_.random, .secrets = edge_.secrets};
    const SessionKey key{call_.caller().tenant, command_.session};
    upload_ = std::make_unique<StagedUpload>(edge_.staged, parts, key, announced);
    return std::nullopt;
  }

  absl::StatusOr<std::optional<MutationResult>> TakeEnd(const pb::StreamEnd& end) {
    ASSIGN_OR_RETURN(StagedContent content, upload_->items.Finish(end.data_sha256()));
    command_.messages = std::move(content.messages);
    command_.slots = std::move(content.slots);
    command_.upload = content.link;
    // The store finishes what it has been given, so the last moment to give up is now.
    RETURN_IF_ERROR(call_.StillWanted());
    ASSIGN_OR_RETURN(MutationResult result, Kind::Do(sessions_, call_.caller(), command_));
    if (!result.repeated) upload_.reset();  // the change has taken over what was staged
    return result;
  }

  Edge& edge_;
  Sessions& sessions_;
  Call& call_;
  typename Kind::Command command_;
  std::unique_ptr<StagedUpload> upload_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_STREAMED_WRITE_H_
