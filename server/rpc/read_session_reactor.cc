#include "server/rpc/read_session_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "server/rpc/convert_fields.h"
#include "server/rpc/convert_session.h"
#include "server/rpc/hand_over.h"
#include "server/rpc/piece_packer.h"
#include "server/rpc/session_reader.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"

#include "absl/status/statusor.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// The responses that are being written, and the next page as the store answers it and once more as
// responses.
constexpr size_t kHeldBytes = 3 * kPageBytes;

// ReadSession: the pieces alone.
struct ReadSessionKind {
  using Request = pb::ReadSessionRequest;
  using Response = pb::ReadSessionResponse;
  static constexpr char kMethod[] = "ReadSession";
  static const pb::ReadSessionRequest& What(const Request& request) { return request; }
  static absl::StatusOr<std::vector<Bytes>> First(Sessions&, const Caller&, const std::string&) {
    return std::vector<Bytes>();
  }
};

// Read of StoreService: the session, then the pieces.
struct ReadKind {
  using Request = pb::ReadRequest;
  using Response = pb::ReadResponse;
  static constexpr char kMethod[] = "Read";
  static const pb::ReadSessionRequest& What(const Request& request) { return request.what(); }
  static absl::StatusOr<std::vector<Bytes>> First(Sessions& sessions, const Caller& caller,
                                                  const std::string& session) {
    ASSIGN_OR_RETURN(const SessionId id, ReadId<SessionId>("what.session_id", session));
    ASSIGN_OR_RETURN(const Head head, sessions.Get(caller, id));
    Response first;
    Write(id, head, *first.mutable_session());
    return std::vector<Bytes>{ToBytes(first)};
  }
};

// While the responses of one page are written by the transport, one after the other, a worker reads
// and packs the next page: the two go on beside each other and meet at the end of a page. The
// stream ends when neither is under way, so whatever ends it is the last to touch the object.
template <typename Kind>
class Reactor final : public grpc::ServerWriteReactor<Bytes> {
 public:
  using Request = Opening<typename Kind::Request>;
  using Page = std::vector<Bytes>;

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
    ReadAhead();
    Meet();
  }

  void OnWriteDone(bool ok) override {
    handed_.Take();
    if (!ok) {
      broken_ = Refusal(Reason::kCancelled, "the reader went away");
    } else if (++written_ < page_.size()) {
      return WriteNext();
    }
    Meet();
  }

  void OnDone() override {
    handed_.Take();
    delete this;
  }

 private:
  // One of the two has come to the end of its page. Whoever comes second goes on for both, and sees
  // what the other has done; whoever comes first must not touch the object again.
  void Meet() {
    const bool second = arrivals_.fetch_add(1, std::memory_order_acq_rel) % 2 == 1;
    if (second) TurnPage();
  }

  void TurnPage() {
    if (!broken_.ok()) return Conclude(broken_);
    if (!ahead_.ok() || ahead_->empty()) return Conclude(ahead_.status());
    page_ = *std::move(ahead_);
    written_ = 0;
    ReadAhead();
    WriteNext();
  }

  void ReadAhead() {
    if (edge_.pool.Submit([this] { ReadPage(); })) return;
    ahead_ = Overloaded("limits.queued_calls");
    Meet();
  }

  void ReadPage() {
    const absl::Status wanted = call_.StillWanted();
    ahead_ = wanted.ok() ? Next() : wanted;
    Meet();
  }

  // Empty at the end.
  absl::StatusOr<Page> Next() {
    if (!begun_) {
      begun_ = true;
      ASSIGN_OR_RETURN(Page first, Kind::First(sessions_, call_.caller(), session_));
      if (!first.empty()) return first;
    }
    RETURN_IF_ERROR(reader_.Next(packer_));
    return packer_.Take();
  }

  void WriteNext() {
    const Bytes* const next = &page_[written_];
    handed_.Give();  // from here on the page is the transport's
    StartWrite(next);
  }

  void Conclude(const absl::Status& status) {
    const grpc::Status answer = call_.End(status);
    handed_.Give();
    Finish(answer);
  }

  Edge& edge_;
  Sessions& sessions_;
  const std::string session_;
  Call call_;
  // The reader's, until it meets the writer.
  SessionReader reader_;
  PiecePacker<typename Kind::Response> packer_;
  bool begun_ = false;
  absl::StatusOr<Page> ahead_;
  // The writer's, in the same way.
  Page page_;
  size_t written_ = 0;
  absl::Status broken_;
  HandOver handed_;
  std::atomic<uint64_t> arrivals_ = 0;  // two for each page
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
