#include "server/rpc/read_session_reactor.h"

#include "server/rpc/convert_fields.h"
#include "server/rpc/convert_session.h"
#include "server/rpc/hand_over.h"
#include "server/rpc/session_reader.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// One page as the store answers it and once more as responses for the wire.
constexpr size_t kHeldBytes = 2 * kPageBytes;

// ReadSession: the pieces alone.
struct ReadSessionKind {
  using Response = pb::ReadSessionResponse;
  static constexpr char kMethod[] = "ReadSession";
  static absl::StatusOr<std::vector<Response>> First(Sessions&, const Caller&, const std::string&) {
    return std::vector<Response>();
  }
};

// Read of StoreService: the session, then the pieces.
struct ReadKind {
  using Response = pb::ReadResponse;
  static constexpr char kMethod[] = "Read";
  static absl::StatusOr<std::vector<Response>> First(Sessions& sessions, const Caller& caller,
                                                     const std::string& session) {
    ASSIGN_OR_RETURN(const SessionId id, ReadId<SessionId>("what.session_id", session));
    ASSIGN_OR_RETURN(const Head head, sessions.Get(caller, id));
    std::vector<Response> first(1);
    Write(id, head, *first.front().mutable_session());
    return first;
  }
};

// The pieces in order, so many to a response that each is as large as the transport likes them.
template <typename Response>
std::vector<Response> Pack(SessionReader::Page pieces) {
  std::vector<Response> packed;
  size_t room = 0;
  for (pb::SessionPiece& piece : pieces) {
    const size_t bytes = piece.ByteSizeLong();
    if (packed.empty() || bytes > room) {
      packed.emplace_back();
      room = kReadResponseBytes;
    }
    room -= std::min(room, bytes);
    packed.back().mutable_pieces()->Add(std::move(piece));
  }
  return packed;
}

// A page is read on a worker, then written response by response on the transport's threads; then
// the next page. At every moment exactly one of the two is under way, so nothing here needs a lock,
// and whoever has handed on must not touch the object again.
template <typename Kind>
class Reactor final : public grpc::ServerWriteReactor<typename Kind::Response> {
 public:
  Reactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
          const pb::ReadSessionRequest& request)
      : edge_(edge),
        sessions_(sessions),
        session_(request.session_id()),
        call_(edge, *context,
              {.method = Kind::kMethod,
               .session = request.session_id(),
               .request_bytes = request.ByteSizeLong(),
               .held_bytes = kHeldBytes}),
        reader_(sessions, call_.caller(), request) {
    call_.DropDefaultDeadline();
  }

  void Start() {
    const absl::Status entered = call_.Enter();
    if (!entered.ok()) return Conclude(entered);
    Fetch();
  }

  void OnWriteDone(bool ok) override {
    handed_.Take();
    if (!ok) return Conclude(Refusal(Reason::kCancelled, "the reader went away"));
    ++written_;
    if (written_ < page_.size()) return WriteNext();
    Fetch();
  }

  void OnDone() override {
    handed_.Take();
    delete this;
  }

 private:
  void Fetch() {
    if (!edge_.pool.Submit([this] { ReadPage(); })) {
      Conclude(Overloaded("limits.queued_calls"));
    }
  }

  void ReadPage() {
    const absl::Status wanted = call_.StillWanted();
    if (!wanted.ok()) return Conclude(wanted);
    const absl::Status read = begun_ ? NextPage() : FirstPage();
    if (!read.ok() || page_.empty()) return Conclude(read);
    written_ = 0;
    WriteNext();
  }

  void WriteNext() {
    handed_.Give();
    this->StartWrite(&page_[written_]);
  }

  void Conclude(const absl::Status& status) {
    const grpc::Status answer = call_.End(status);
    handed_.Give();
    this->Finish(answer);
  }

  absl::Status FirstPage() {
    begun_ = true;
    ASSIGN_OR_RETURN(page_, Kind::First(sessions_, call_.caller(), session_));
    return page_.empty() ? NextPage() : absl::OkStatus();
  }

  absl::Status NextPage() {
    ASSIGN_OR_RETURN(SessionReader::Page pieces, reader_.Next());
    page_ = Pack<typename Kind::Response>(std::move(pieces));
    return absl::OkStatus();
  }

  Edge& edge_;
  Sessions& sessions_;
  const std::string session_;
  Call call_;
  SessionReader reader_;
  bool begun_ = false;
  std::vector<typename Kind::Response> page_;
  size_t written_ = 0;
  HandOver handed_;
};

}  // namespace

grpc::ServerWriteReactor<pb::ReadSessionResponse>* StartReadSession(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
    const pb::ReadSessionRequest& request) {
  auto* reactor = new Reactor<ReadSessionKind>(edge, sessions, context, request);
  reactor->Start();
  return reactor;
}

grpc::ServerWriteReactor<pb::ReadResponse>* StartRead(Edge& edge, Sessions& sessions,
                                                      grpc::CallbackServerContext* context,
                                                      const pb::ReadRequest& request) {
  auto* reactor = new Reactor<ReadKind>(edge, sessions, context, request.what());
  reactor->Start();
  return reactor;
}

}  // namespace holdfast
