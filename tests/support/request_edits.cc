#include "tests/support/request_edits.h"

#include "holdfast/v1/item_service.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "platform/digest.h"
#include "tests/support/requests.h"

#include "absl/functional/function_ref.h"

namespace holdfast::testing {
namespace {

namespace pb = ::holdfast::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

using Visit = absl::FunctionRef<void(Message& holder, const FieldDescriptor& field)>;

void VisitMessages(Message& holder, const FieldDescriptor& field, const std::string& name,
                   Visit visit);

// Visits each field of this name in `message` and in the messages that it has.
void VisitFields(Message& message, const std::string& name, Visit visit) {
  for (int at = 0; at < message.GetDescriptor()->field_count(); ++at) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(at);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      VisitMessages(message, field, name, visit);
    } else if (field.name() == name && !field.is_repeated()) {
      visit(message, field);
    }
  }
}

void VisitMessages(Message& holder, const FieldDescriptor& field, const std::string& name,
                   Visit visit) {
  const Reflection& reflection = *holder.GetReflection();
  if (field.is_map()) return;
  if (!field.is_repeated()) {
    if (!reflection.HasField(holder, &field)) return;
    return VisitFields(*reflection.MutableMessage(&holder, &field), name, visit);
  }
  for (int at = 0; at < reflection.FieldSize(holder, &field); ++at) {
    VisitFields(*reflection.MutableRepeatedMessage(&holder, &field, at), name, visit);
  }
}

// The requests of a streamed body that is `slot` alone.
template <typename Part>
std::vector<std::string> Streamed(const Part& first, const pb::Slot& slot) {
  Part body;
  *body.mutable_slot() = slot;
  Part last;
  last.mutable_end()->set_data_sha256(std::string(View(Sha256(slot.data()))));
  return {first.SerializeAsString(), body.SerializeAsString(), last.SerializeAsString()};
}

template <typename Request>
void SetEntry(const pb::Slot& slot, Request& request) {
  pb::JournalEntry& entry = *request.mutable_entries(0);
  entry.set_kind(pb::JOURNAL_KIND_SLOT_UPDATE);
  entry.clear_data();
  *entry.mutable_slot() = slot;
}

// Where a request that is sent alone takes a slot, or its data.
void Put(const pb::Slot& slot, Message& message) {
  if (auto* create = dynamic_cast<pb::CreateSessionRequest*>(&message)) {
    *create->add_slots() = slot;
  } else if (auto* resume = dynamic_cast<pb::ResumeSessionRequest*>(&message)) {
    pb::CreateSessionRequest& missing = *resume->mutable_create_if_missing();
    missing = test::CreateRequest("");
    missing.clear_request_id();
    *missing.add_slots() = slot;
  } else if (auto* commit = dynamic_cast<pb::CommitTurnRequest*>(&message)) {
    *commit->add_slots() = slot;
  } else if (auto* write = dynamic_cast<pb::WriteSnapshotRequest*>(&message)) {
    *write->add_slots() = slot;
  } else if (auto* restore = dynamic_cast<pb::RestoreSessionRequest*>(&message)) {
    *restore->add_slots() = slot;
  } else if (auto* close = dynamic_cast<pb::CloseSessionRequest*>(&message)) {
    *close->mutable_final_snapshot()->add_slots() = slot;
  } else if (auto* append = dynamic_cast<pb::AppendJournalRequest*>(&message)) {
    SetEntry(slot, *append);
  } else if (auto* entries = dynamic_cast<pb::AppendJournalStreamRequest*>(&message)) {
    SetEntry(slot, *entries);
  } else if (auto* list = dynamic_cast<pb::ListSlotsRequest*>(&message)) {
    list->add_owners(slot.owner());
  } else if (auto* update = dynamic_cast<pb::UpdateSessionRequest*>(&message)) {
    (*update->mutable_session()->mutable_attributes())["title"] = slot.data();
  } else if (auto* put = dynamic_cast<pb::PutItemsRequest*>(&message)) {
    pb::CreateSessionRequest& missing = *put->mutable_create_if_missing();
    *missing.mutable_manifest() = test::CreateRequest("").manifest();
    missing.set_kind(pb::SESSION_KIND_OPEN);
    *missing.add_slots() = slot;
  } else if (auto* checkpoint = dynamic_cast<pb::PutCheckpointRequest*>(&message)) {
    (*checkpoint->mutable_labels())["title"].set_string_value(slot.data());
  } else if (auto* audit = dynamic_cast<pb::AppendAuditRequest*>(&message)) {
    (*audit->mutable_data())["noted"] = slot.data();
  }
}

}  // namespace

void SetTexts(Message& request, const std::string& name, const std::string& text) {
  VisitFields(request, name, [&](Message& holder, const FieldDescriptor& field) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return;
    holder.GetReflection()->SetString(&holder, &field, text);
  });
}

void SetNumbers(Message& request, const std::string& name, int64_t number) {
  VisitFields(request, name, [&](Message& holder, const FieldDescriptor& field) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_INT64) return;
    holder.GetReflection()->SetInt64(&holder, &field, number);
  });
}

std::vector<std::string> CallWithSlot(Message& request, const pb::Slot& slot) {
  const auto size = static_cast<int64_t>(slot.data().size());
  if (auto* commit = dynamic_cast<pb::CommitTurnStreamRequest*>(&request)) {
    commit->mutable_commit()->set_data_bytes(size);
    return Streamed(*commit, slot);
  }
  if (auto* write = dynamic_cast<pb::WriteSnapshotStreamRequest*>(&request)) {
    write->mutable_write()->set_data_bytes(size);
    return Streamed(*write, slot);
  }
  Put(slot, request);
  return {request.SerializeAsString()};
}

}  // namespace holdfast::testing
