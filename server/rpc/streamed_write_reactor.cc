#include "server/rpc/streamed_write_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "server/rpc/convert_commands.h"
#include "server/rpc/convert_replies.h"
#include "server/rpc/hand_over.h"
#include "server/rpc/streamed_write.h"

#include <cstddef>

namespace holdfast {
namespace {

// A piece as it came, its bytes on their way to the store, and the list of items.
constexpr size_t kHeldBytes = 4 * kChunkBytes;
// What a piece may become in memory.
constexpr size_t kParsedBytes = kChunkBytes;

struct CommitTurnKind {
  using Request = pb::CommitTurnStreamRequest;
  using Response = pb::CommitTurnStreamResponse;
  using Command = CommitTurnCommand;
  static constexpr char kMethod[] = "CommitTurnStream";
  static constexpr char kBegin[] = "commit";
  static const pb::StreamedCommit* Begin(const Request& piece) {
    return piece.has_commit() ? &piece.commit() : nullptr;
  }
  static absl::StatusOr<Command> Read(const pb::StreamedCommit& begin) {
    return ReadCommitTurn(begin.commit());
  }
  static absl::StatusOr<Done> Do(Sessions& sessions, const Caller& caller, const Command& command) {
    return sessions.CommitTurn(caller, command);
  }
};

struct WriteKind {
  using Request = pb::WriteStreamRequest;
  using Response = pb::WriteStreamResponse;
  using Command = WriteCommand;
  static constexpr char kMethod[] = "WriteStream";
  static constexpr char kBegin[] = "write";
  static const pb::StreamedWrite* Begin(const Request& piece) {
    return piece.has_write() ? &piece.write() : nullptr;
  }
  static absl::StatusOr<Command> Read(const pb::StreamedWrite& begin) {
    return ReadWrite(begin.write());
  }
  static absl::StatusOr<Done> Do(Sessions& sessions, const Caller& caller, const Command& command) {
    return sessions.Write(caller, command);
  }
};

// A piece is read on the transport's threads, then taken in on a worker; then the next one. At
// every moment exactly one of the two is under way, so nothing here needs a lock, and whoever has
// handed on must not touch the object again.
template <typename Kind>
class Reactor final : public grpc::ServerReadReactor<Bytes> {
 public:
  Reactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context, Bytes* response)
      : edge_(edge),
        response_(response),
        call_(edge, *context, {.method = Kind::kMethod, .session = "", .held_bytes = kHeldBytes}),
        write_(edge, sessions, call_) {
    call_.DropDefaultDeadline();
  }

  void Start() {
    const absl::Status entered = call_.Enter();
    if (!entered.ok()) return Conclude(entered);
    ReadPiece();
  }

  void OnReadDone(bool ok) override {
    handed_.Take();
    if (!edge_.pool.Submit([this, ok] { ok ? TakePiece() : EndEarly(); })) {
      End(Overloaded("limits.queued_calls"));
    }
  }

  void OnDone() override {
    handed_.Take();
    delete this;
  }

 private:
  void TakePiece() {
    const absl::StatusOr<std::optional<Done>> done = TakeIfWanted();
    if (!done.ok()) return End(done.status());
    if (!*done) return ReadPiece();
    typename Kind::Response response;
    WriteReply(**done, response);
    *response_ = ToBytes(response);
    End(absl::OkStatus());
  }

  absl::StatusOr<std::optional<Done>> TakeIfWanted() {
    RETURN_IF_ERROR(call_.StillWanted());
    if (piece_.Length() > kUnaryRequestBytes) {
      return TooLarge("request", kUnaryRequestBytes, piece_.Length());
    }
    Received<typename Kind::Request> piece;
    RETURN_IF_ERROR(piece.Parse(piece_, kParsedBytes));
    return write_.Take(*piece);
  }

  void EndEarly() {
    const absl::Status wanted = call_.StillWanted();
    End(wanted.ok() ? InvalidField("end", "must be the last part").ToStatus() : wanted);
  }

  void End(const absl::Status& status) {
    write_.GiveUp();
    Conclude(status);
  }

  void ReadPiece() {
    handed_.Give();
    StartRead(&piece_);
  }

  void Conclude(const absl::Status& status) {
    const grpc::Status answer = call_.End(status);
    handed_.Give();
    Finish(answer);
  }

  Edge& edge_;
  Bytes* const response_;
  Call call_;
  StreamedWrite<Kind> write_;
  Bytes piece_;
  HandOver handed_;
};

template <typename Kind>
grpc::ServerReadReactor<Bytes>* StartAs(Edge& edge, Sessions& sessions,
                                        grpc::CallbackServerContext* context, Bytes* response) {
  auto* reactor = new Reactor<Kind>(edge, sessions, context, response);
  reactor->Start();
  return reactor;
}

}  // namespace

grpc::ServerReadReactor<Bytes>* StartCommitTurnStream(Edge& edge, Sessions& sessions,
                                                      grpc::CallbackServerContext* context,
                                                      Bytes* response) {
  return StartAs<CommitTurnKind>(edge, sessions, context, response);
}

grpc::ServerReadReactor<Bytes>* StartWriteStream(Edge& edge, Sessions& sessions,
                                                 grpc::CallbackServerContext* context,
                                                 Bytes* response) {
  return StartAs<WriteKind>(edge, sessions, context, response);
}

}  // namespace holdfast
