#include "server/rpc/read/read_session_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/session.h"
#include "server/rpc/read/piece_packer.h"
#include "server/rpc/read/read_stream_reactor.h"
#include "server/rpc/read/session_reader.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// The pieces of a session as responses.
template <typename Kind>
class SessionStream {
 public:
  // `sessions` must outlive this.
  SessionStream(Sessions& sessions, const Caller& caller, const typename Kind::Request& request)
      : sessions_(sessions),
        caller_(caller),
        session_(Kind::SessionOf(request)),
        reader_(sessions, caller, Kind::What(request)) {}

  absl::StatusOr<std::vector<Bytes>> Next() {
    if (!begun_) {
      begun_ = true;
      ASSIGN_OR_RETURN(std::vector<Bytes> first, Kind::First(sessions_, caller_, session_));
      if (!first.empty()) return first;
    }
    RETURN_IF_ERROR(reader_.Next(packer_));
    return packer_.Take();
  }
  [[nodiscard]] size_t HeldBytes() const { return reader_.HeldBytes(); }

 private:
  Sessions& sessions_;
  const Caller caller_;
  const std::string session_;
  SessionReader reader_;
  PiecePacker<typename Kind::Response> packer_;
  bool begun_ = false;
};

// ReadSession: the pieces alone.
struct ReadSessionKind {
  using Request = pb::ReadSessionRequest;
  using Response = pb::ReadSessionResponse;
  using Stream = SessionStream<ReadSessionKind>;
  static constexpr char kMethod[] = "ReadSession";
  static const pb::ReadSessionRequest& What(const Request& request) { return request; }
  static const std::string& SessionOf(const Request& request) { return request.session_id(); }
  static absl::StatusOr<std::vector<Bytes>> First(Sessions&, const Caller&, const std::string&) {
    return std::vector<Bytes>();
  }
};

// ReadSnapshot of StoreService: the session, then the pieces.
struct ReadSnapshotKind {
  using Request = pb::ReadSnapshotRequest;
  using Response = pb::ReadSnapshotResponse;
  using Stream = SessionStream<ReadSnapshotKind>;
  static constexpr char kMethod[] = "ReadSnapshot";
  static const pb::ReadSessionRequest& What(const Request& request) { return request.read(); }
  static const std::string& SessionOf(const Request& request) {
    return request.read().session_id();
  }
  static absl::StatusOr<std::vector<Bytes>> First(Sessions& sessions, const Caller& caller,
                                                  const std::string& session) {
    ASSIGN_OR_RETURN(const SessionId id, ReadId<SessionId>("read.session_id", session));
    ASSIGN_OR_RETURN(const Head head, sessions.Get(caller, id));
    Response first;
    Write(id, head, *first.mutable_session());
    return std::vector<Bytes>{ToBytes(first)};
  }
};

}  // namespace

grpc::ServerWriteReactor<Bytes>* StartReadSession(Edge& edge, Sessions& sessions,
                                                  grpc::CallbackServerContext* context,
                                                  const Bytes& request) {
  return StartReading<ReadSessionKind>(edge, sessions, context, request);
}

grpc::ServerWriteReactor<Bytes>* StartRead(Edge& edge, Sessions& sessions,
                                           grpc::CallbackServerContext* context,
                                           const Bytes& request) {
  return StartReading<ReadSnapshotKind>(edge, sessions, context, request);
}

}  // namespace holdfast
