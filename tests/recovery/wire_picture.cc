#include "tests/recovery/wire_picture.h"

#include "tests/support/channel.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <memory>
#include <set>
#include <utility>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kDamaged[] = "! DAMAGED";
constexpr uint32_t kWholePage = 1000;

class Painter {
 public:
  explicit Painter(const std::string& address)
      : client_(address), sessions_(pb::SessionService::NewStub(Connected(address))) {}

  void Paint(const std::string& id) {
    id_ = id;
    Say("GetSession", &Stub::GetSession, pb::GetSessionRequest());
    SayPages("ListJournalEntries", &Stub::ListJournalEntries);
    SayPages("ListEvents", &Stub::ListEvents);
    SayPages("ListAuditRecords", &Stub::ListAuditRecords);
    SayPages("ListMessages", &Stub::ListMessages);
    const auto verified = Say("VerifyAudit", &Stub::VerifyAudit, pb::VerifyAuditRequest());
    if (picture_[Call("VerifyAudit")].front() != '!' && !verified.valid()) {
      picture_[Call("VerifyAudit")] = kDamaged;
    }
    PaintSlots();
    PaintStream();
  }

  void PaintOutcome(const SentRequest& sent) {
    id_ = sent.session;
    pb::GetRequestOutcomeRequest request;
    request.set_request_id(sent.request_id);
    request.set_method(sent.method);
    Say("GetRequestOutcome " + sent.request_id, &Stub::GetRequestOutcome, std::move(request));
  }

  void PaintListing(const std::vector<std::string>& ids) {
    Answer<pb::ListSessionsResponse> listed;
    EXPECT_TRUE(WaitUntil([&] {
      listed = client_.Ask(&Stub::ListSessions, pb::ListSessionsRequest());
      return listed.verdict.reason != "OK" || listed.reply.complete();
    }));
    EXPECT_EQ(listed.verdict.reason, "OK");
    for (const std::string& id : ids) {
      id_ = id;
      // A row may be missing where the session itself is damaged.
      const std::string& session = picture_[Call("GetSession")];
      picture_[Call("ListSessions")] = IsDamage(session) ? session : "absent";
    }
    for (const pb::SessionSummary& row : listed.reply.sessions()) {
      id_ = row.session_id();
      const bool sound = row.condition() == pb::SessionSummary::CONDITION_OK;
      picture_[Call("ListSessions")] = sound ? row.ShortDebugString() : kDamaged;
    }
  }

  Picture Take() { return std::move(picture_); }

 private:
  [[nodiscard]] std::string Call(const std::string& method) const {
    return absl::StrCat(id_, " ", method);
  }
  template <typename Request, typename Reply>
  Reply Say(const std::string& method, WireClient::Method<Request, Reply> call, Request request) {
    request.set_session_id(id_);
    const auto answer = client_.Ask(call, request);
    picture_[Call(method)] = answer.verdict.reason == "OK" ? answer.reply.ShortDebugString() + " "
                                                           : "! " + answer.verdict.reason;
    return answer.reply;
  }

  // All pages. One may end before a damaged item, which the next one then names.
  template <typename Request, typename Reply>
  void SayPages(const std::string& method, WireClient::Method<Request, Reply> call) {
    Request request;
    request.set_session_id(id_);
    request.set_page_size(kWholePage);
    Reply read;
    std::string& said = picture_[Call(method)];
    do {
      const auto page = client_.Ask(call, request);
      if (page.verdict.reason != "OK") {
        said = "! " + page.verdict.reason;
        return;
      }
      read.MergeFrom(page.reply);
      request.set_page_token(page.reply.next_page_token());
    } while (!request.page_token().empty());
    read.clear_next_page_token();
    said = read.ShortDebugString() + " ";
  }

  void PaintSlots() {
    const auto read = Say("ListSlots", &Stub::ListSlots, pb::ListSlotsRequest());
    for (int i = 0; i < read.slots_size() && i < read.sizes_size(); ++i) {
      if (read.slots(i).data().empty() && read.sizes(i) > 0) {
        picture_[Call("ListSlots")] = kDamaged;
      }
    }
  }

  void PaintStream() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    pb::ReadSessionRequest request;
    request.set_session_id(id_);
    const auto stream = sessions_->ReadSession(&context, request);
    std::string pieces;
    std::string memory = "absent";
    pb::ReadSessionResponse response;
    while (stream->Read(&response)) {
      for (const pb::SessionPiece& piece : response.pieces()) {
        if (!piece.has_slot()) {
          absl::StrAppend(&pieces, piece.ShortDebugString(), "\n");
          continue;
        }
        const bool cut = piece.slot().data().empty() && piece.total_bytes() > 0;
        memory = cut ? kDamaged : piece.ShortDebugString();
      }
    }
    const std::string reason = VerdictOf(stream->Finish()).reason;
    if (reason != "OK") pieces = memory = "! " + reason;
    picture_[Call("ReadSession")] = pieces;
    picture_[Call("ReadSession memory")] = memory;
  }

  WireClient client_;
  std::unique_ptr<Stub> sessions_;
  std::string id_;
  Picture picture_;
};

}  // namespace

Picture PictureOverWire(const std::string& address, const std::vector<std::string>& sessions,
                        const std::vector<SentRequest>& requests) {
  Painter painter(address);
  for (const std::string& id : sessions) painter.Paint(id);
  for (const SentRequest& request : requests) painter.PaintOutcome(request);
  painter.PaintListing(sessions);
  return painter.Take();
}

bool IsDamage(const std::string& answer) {
  // A store id that was changed is another store's.
  static const std::set<std::string> kDamage = {kDamaged, "! MANIFEST_DRIFT", "! RESUME_MISMATCH"};
  return kDamage.contains(answer);
}

}  // namespace holdfast::testing
