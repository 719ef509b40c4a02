#include "server/rpc/read_session_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
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
  using Request = pb::ReadSessionRequest;
  using Response = pb::ReadSessionResponse;
  static constexpr char kMethod[] = "ReadSession";
  static const pb::ReadSessionRequest& What(const Request& request) { return request; }
  static absl::StatusOr<std::vector<Response>> First(Sessions&, const Caller&, const std::string&) {
    return std::vector<Response>();
  }
};

// Read of StoreService: the session, then the pieces.
struct ReadKind {
  using Request = pb::ReadRequest;
  using Response = pb::ReadResponse;
  static constexpr char kMethod[] = "Read";
  static const pb::ReadSessionRequest& What(const Request& request) { return request.what(); }
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
class Reactor final : public grpc::ServerWriteReactor<Bytes> {
 public:
  using Request = Opening<typename Kind::Request>;

  Reactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
          const Request& request)
      : edge_(edge),
        sessions_(sessions),
        session_(Kind::What(*request).session_id()),
        call_(edge, *context,
              {.method = Kind::kMethod,
               .session = session_,
               .request_bytes = request.bytes(),
               .held_bytes = kHeldBytes}),
        reader_(sessions, call_.caller(), Kind::What(*request)) {
    call_.DropDefaultDeadline();
  }

  void Start(const Request& request) {
    absl::Status entered = call_.Enter();
    if (entered.ok()) entered = request.parsed();
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
    writing_ = ToBytes(page_[written_]);
    handed_.Give();
    StartWrite(&writing_);
  }

  void Conclude(const absl::Status& status) {
    const grpc::Status answer = call_.End(status);
    handed_.Give();
    Finish(answer);
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
  Bytes writing_;
  HandOver handed_;
};

template <typename Kind>
grpc::ServerWriteReactor<Bytes>* StartAs(Edge& edge, Sessions& sessions,
                                         grpc::CallbackServerContext* context, const Bytes& bytes) {
  const Opening<typename Kind::Request> request(bytes);
  auto* reactor = new Reactor<Kind>(edge, sessions, context, request);
  reactor->Start(request);
  return reactor;
}

}  // namespace

grpc::ServerWriteReactor<Bytes>* StartReadSession(Edge& edge, Sessions& sessions,
                                                  grpc::CallbackServerContext* context,
                                                  const Bytes& request) {
  return StartAs<ReadSessionKind>(edge, sessions, context, request);
}

grpc::ServerWriteReactor<Bytes>* StartRead(Edge& edge, Sessions& sessions,
                                           grpc::CallbackServerContext* context,
                                           const Bytes& request) {
  return StartAs<ReadKind>(edge, sessions, context, request);
}

}  // namespace holdfast
