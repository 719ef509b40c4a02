#include "server/rpc/write/streamed_write_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/rpc/call/stream_ends.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/convert/replies.h"
#include "server/rpc/write/streamed_write.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

// What the messages of one piece may take, beside its texts.
constexpr size_t kPieceArenaBytes = kChunkBytes;

struct CommitTurnKind {
  using Request = pb::CommitTurnStreamRequest;
  using Response = pb::CommitTurnResponse;
  using Command = CommitTurnCommand;
  static constexpr char kMethod[] = "CommitTurnStream";
  static constexpr char kBegin[] = "commit";
  static pb::StreamedCommit* Begin(Request& piece) {
    return piece.has_commit() ? piece.mutable_commit() : nullptr;
  }
  static absl::StatusOr<Command> Read(pb::StreamedCommit& begin) {
    return ReadCommitTurn(std::move(*begin.mutable_commit()));
  }
  static absl::StatusOr<MutationResult> Do(Sessions& sessions, const Caller& caller,
                                           const Command& command) {
    return sessions.CommitTurn(caller, command);
  }
};

struct WriteKind {
  using Request = pb::WriteSnapshotStreamRequest;
  using Response = pb::WriteSnapshotResponse;
  using Command = WriteCommand;
  static constexpr char kMethod[] = "WriteSnapshotStream";
  static constexpr char kBegin[] = "write";
  static pb::StreamedWrite* Begin(Request& piece) {
    return piece.has_write() ? piece.mutable_write() : nullptr;
  }
  static absl::StatusOr<Command> Read(pb::StreamedWrite& begin) {
    if (begin.write().has_create_if_missing()) {
      return InvalidField("create_if_missing", "must be left out of a stream");
    }
    return ReadWrite(std::move(*begin.mutable_write()));
  }
  static absl::StatusOr<MutationResult> Do(Sessions& sessions, const Caller& caller,
                                           const Command& command) {
    return sessions.Write(caller, command);
  }
};

// A piece is read on the transport's threads, then processed on a worker; then the next one. At
// every moment one of the two is under way and `state_` says which; a thread that has handed the
// stream on must not touch the object again.
template <typename Kind>
class WriteStreamReactor final : public grpc::ServerReadReactor<Bytes>, public OpenStream {
 public:
  WriteStreamReactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
                     Bytes* response)
      : edge_(edge),
        response_(response),
        context_(*context),
        call_(edge, *context,
              {.method = Kind::kMethod, .session = "", .held_bytes = kIdleStreamBytes}),
        write_(edge, sessions, call_) {
    call_.DropDefaultDeadline();
  }

  void Start() {
    const absl::Status entered = call_.Enter();
    if (!entered.ok()) return Conclude(entered);
    edge_.streams.Add(this);
    ReadPiece();
  }

  void OnReadDone(bool ok) override {
    const TransportThread here;
    {
      const absl::MutexLock lock(&mutex_);
      if (state_ != State::kReading) return;  // ended because nothing came
      if (flushing_) {
        arrived_ = ok;  // FlushIdle goes on with it
        return;
      }
      state_ = State::kWorking;
    }
    const absl::Status held = ok ? HoldPiece() : absl::OkStatus();
    if (!held.ok()) return Abandon(held);
    if (edge_.pool.Submit([this, ok] { ok ? TakePiece() : EndEarly(); })) return;
    Abandon(Overloaded("limits.queued_calls"));
  }

  void OnDone() override {
    const TransportThread here;
    edge_.streams.Remove(this);
    { const absl::MutexLock lock(&mutex_); }  // the last one to use it has let go
    delete this;
  }

  // What has begun may end while the server drains.
  void Drain() override {}

  void Tend(absl::Duration now) override {
    const StreamLimits& limits = edge_.streams.limits();
    const absl::MutexLock lock(&mutex_);
    if (flushing_) return;
    if (state_ == State::kReading && now - since_ >= limits.idle) {
      // Without a worker the next beat tries again: what was staged is dropped there.
      if (edge_.pool.Submit([this] { End(ClientSentNothing()); })) state_ = State::kWorking;
    } else if (state_ == State::kReading && now - since_ >= kStreamBeat &&
               write_.HeldBytes() > kIdleStreamBytes) {
      flushing_ = edge_.pool.Submit([this] { FlushIdle(); });
    } else if (state_ == State::kEnded && now - since_ >= limits.write_timeout) {
      since_ = now;
      context_.TryCancel();  // its client does not even read the answer
    }
  }

 private:
  enum class State : uint8_t {
    kReading,  // the client's turn
    kWorking,  // a worker has the piece, or will
    kEnded,    // the status is on its way
  };

  // The bytes of a piece count from here on.
  absl::Status HoldPiece() {
    CountMessage(edge_, context_, piece_.Length());
    ASSIGN_OR_RETURN(piece_memory_, edge_.admission.AdmitBytes(piece_.Length()));
    return absl::OkStatus();
  }

  void TakePiece() {
    const absl::StatusOr<std::optional<MutationResult>> result =
        call_.RunPart([this] { return TakeIfWanted(); });
    if (!result.ok()) return End(result.status());
    if (!*result) return ReadPiece();
    typename Kind::Response response;
    WriteReply(**result, response);
    *response_ = ToBytes(response);
    End(absl::OkStatus());
  }

  absl::StatusOr<std::optional<MutationResult>> TakeIfWanted() {
    RETURN_IF_ERROR(call_.StillWanted());
    if (piece_.Length() > kUnaryRequestBytes) {
      return TooLarge("request", kUnaryRequestBytes, piece_.Length());
    }
    Received<typename Kind::Request> piece;
    RETURN_IF_ERROR(Receive(piece_, kPieceArenaBytes, piece_memory_, piece));
    ASSIGN_OR_RETURN(std::optional<MutationResult> result, write_.Take(*piece));
    if (result) return result;
    // The piece is handed over; what the upload keeps of it goes on counting.
    piece_.Clear();
    piece_memory_ = Admission::Ticket();
    ASSIGN_OR_RETURN(upload_memory_, edge_.admission.AdmitBytes(write_.HeldBytes()));
    return std::nullopt;
  }

  // A client that pauses keeps no more than kIdleStreamBytes in memory. A piece that comes
  // meanwhile is taken when this is done.
  void FlushIdle() {
    const absl::Status flushed = call_.RunPart([this] { return write_.Flush(); });
    upload_memory_.Hold(write_.HeldBytes());
    std::optional<bool> arrived;
    {
      const absl::MutexLock lock(&mutex_);
      flushing_ = false;
      arrived = std::exchange(arrived_, std::nullopt);
      if (flushed.ok() && !arrived) return;
      state_ = State::kWorking;
    }
    if (!flushed.ok()) return End(flushed);
    if (!*arrived) return EndEarly();
    const absl::Status held = HoldPiece();
    held.ok() ? TakePiece() : End(held);
  }

  void EndEarly() {
    const absl::Status wanted = call_.StillWanted();
    End(wanted.ok() ? InvalidField("end", "must be the last part").ToStatus() : wanted);
  }

  // On a worker.
  void End(const absl::Status& status) {
    call_
        .RunPart([this] {
          write_.GiveUp();
          return absl::OkStatus();
        })
        .IgnoreError();  // what is left is swept
    Conclude(status);
  }

  // On a thread of the transport, which must not wait for the store.
  void Abandon(const absl::Status& status) {
    if (std::shared_ptr<StagedUpload> upload = write_.LeaveUpload()) {
      edge_.streams.Defer([upload = std::move(upload)] { upload->items.Drop(); });
    }
    Conclude(status);
  }

  void ReadPiece() {
    const absl::MutexLock lock(&mutex_);
    state_ = State::kReading;
    since_ = edge_.clock.SinceBoot();
    StartRead(&piece_);
  }

  void Conclude(const absl::Status& status) {
    piece_memory_ = Admission::Ticket();
    upload_memory_ = Admission::Ticket();
    const grpc::Status answer = call_.End(status);
    {
      const absl::MutexLock lock(&mutex_);
      state_ = State::kEnded;
      since_ = edge_.clock.SinceBoot();
    }
    Finish(answer);
  }

  Edge& edge_;
  Bytes* const response_;
  grpc::CallbackServerContext& context_;
  Call call_;
  StreamedWrite<Kind> write_;
  Bytes piece_;
  Admission::Ticket piece_memory_;
  Admission::Ticket upload_memory_;
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kWorking;
  absl::Duration since_ ABSL_GUARDED_BY(mutex_);         // since boot: when the state began
  bool flushing_ ABSL_GUARDED_BY(mutex_) = false;        // while it reads
  std::optional<bool> arrived_ ABSL_GUARDED_BY(mutex_);  // what the read came to meanwhile
};

template <typename Kind>
grpc::ServerReadReactor<Bytes>* StartWriting(Edge& edge, Sessions& sessions,
                                             grpc::CallbackServerContext* context,
                                             Bytes* response) {
  const TransportThread here;
  auto* reactor = new WriteStreamReactor<Kind>(edge, sessions, context, response);
  reactor->Start();
  return reactor;
}

}  // namespace

grpc::ServerReadReactor<Bytes>* StartCommitTurnStream(Edge& edge, Sessions& sessions,
                                                      grpc::CallbackServerContext* context,
                                                      Bytes* response) {
  return StartWriting<CommitTurnKind>(edge, sessions, context, response);
}

grpc::ServerReadReactor<Bytes>* StartWriteStream(Edge& edge, Sessions& sessions,
                                                 grpc::CallbackServerContext* context,
                                                 Bytes* response) {
  return StartWriting<WriteKind>(edge, sessions, context, response);
}

}  // namespace holdfast
