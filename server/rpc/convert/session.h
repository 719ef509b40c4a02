// Converts the domain's values of a session to messages of the wire.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_SESSION_H_
#define HOLDFAST_SERVER_RPC_CONVERT_SESSION_H_

#include "holdfast/v1/session_service.pb.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "session/sessions.h"
#include "session/store.h"

#include <google/protobuf/repeated_field.h>

#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

void Write(const SessionId& id, const Head& head, pb::Session& out);
void Write(const CancelRequest& cancel_request, pb::CancelRequest& out);
void Write(const std::vector<CancelRequest>& cancel_requests,
           google::protobuf::RepeatedPtrField<pb::CancelRequest>& out);
void Write(const SessionRow& row, pb::SessionSummary& out);
void Write(const SlotView& view, pb::SlotView& out);
void Write(const StateMachineRef& sm, pb::StateMachine& out);
void Write(const Message& message, pb::Message& out);
void Write(const Slot& slot, pb::Slot& out);
void Write(const JournalEntry& entry, pb::JournalEntry& out);
void Write(const Event& event, pb::Event& out);
void Write(const AuditRecord& record, pb::AuditRecord& out);
void Write(const SlotReport& report, pb::SlotReport& out);
void Write(const RecoveryReport& report, pb::RecoveryReport& out);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_SESSION_H_
