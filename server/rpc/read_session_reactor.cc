#include "server/rpc/read_session_reactor.h"

#include "server/rpc/session_reader.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <cstddef>
#include <utility>

namespace holdfast {
namespace {

// One page as the store answers it and once more in pieces for the wire.
constexpr size_t kHeldBytes = 2 * kPageBytes;

// A page is read on a worker, then written piece by piece on the transport's threads; then the next
// page. At every moment exactly one of the two is under way, so nothing here needs a lock, and
// whoever has handed on must not touch the object again.
class ReadSessionReactor final : public grpc::ServerWriteReactor<pb::ReadSessionResponse> {
 public:
  ReadSessionReactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
                     const pb::ReadSessionRequest& request)
      : edge_(edge),
        call_(edge, *context,
              {.method = "ReadSession",
               .session = request.session_id(),
               .request_bytes = request.ByteSizeLong(),
               .held_bytes = kHeldBytes}),
        reader_(sessions, call_.caller(), request) {
    call_.DropDefaultDeadline();
  }

  void Start() {
    const absl::Status entered = call_.Enter();
    if (!entered.ok()) return Finish(call_.End(entered));
    Fetch();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      return Finish(call_.End(Refusal(Reason::kCancelled, "the reader went away")));
    }
    ++written_;
    if (written_ < page_.size()) return StartWrite(&page_[written_]);
    Fetch();
  }

  void OnDone() override { delete this; }

 private:
  void Fetch() {
    if (!edge_.pool.Submit([this] { ReadPage(); })) {
      Finish(call_.End(Overloaded("limits.queued_calls")));
    }
  }

  void ReadPage() {
    const absl::Status wanted = call_.StillWanted();
    if (!wanted.ok()) return Finish(call_.End(wanted));
    absl::StatusOr<SessionReader::Page> page = reader_.Next();
    if (!page.ok() || page->empty()) return Finish(call_.End(page.status()));
    page_ = *std::move(page);
    written_ = 0;
    StartWrite(&page_.front());
  }

  Edge& edge_;
  Call call_;
  SessionReader reader_;
  SessionReader::Page page_;
  size_t written_ = 0;
};

}  // namespace

grpc::ServerWriteReactor<pb::ReadSessionResponse>* StartReadSession(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
    const pb::ReadSessionRequest& request) {
  auto* reactor = new ReadSessionReactor(edge, sessions, context, request);
  reactor->Start();
  return reactor;
}

}  // namespace holdfast
