// What a session is made of, from the wire: manifest, messages, slots, journal entries.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_CONTENTS_H_
#define HOLDFAST_SERVER_RPC_CONVERT_CONTENTS_H_

#include "holdfast/v1/session_service.pb.h"
#include "session/commands.h"
#include "session/model.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <google/protobuf/repeated_ptr_field.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

template <typename Item>
using Repeated = google::protobuf::RepeatedPtrField<Item>;

// INVALID_FIELD when the manifest, or the reference in it, has a field that this server does not
// know.
absl::Status CheckNoUnknown(const pb::Manifest& manifest);

StateMachineRef ReadStateMachine(const pb::StateMachine& sm);
// Items, whose texts and bytes are moved out of them. `path` is the item's path in the request.
absl::StatusOr<Message> ReadMessage(const std::string& path, pb::Message& message);
absl::StatusOr<Slot> ReadSlot(const std::string& path, pb::Slot& slot);
absl::StatusOr<std::vector<Message>> ReadMessages(Repeated<pb::Message>& messages);
absl::StatusOr<std::vector<Slot>> ReadSlots(std::string_view field, Repeated<pb::Slot>& slots);
absl::StatusOr<std::vector<JournalEntry>> ReadEntries(Repeated<pb::JournalEntry>& entries);
absl::StatusOr<std::vector<ExpectedSlot>> ReadExpectedSlots(
    const Repeated<pb::ExpectedSlot>& slots);

// Texts as a vector.
std::vector<std::string> ReadTexts(const Repeated<std::string>& texts);

// The attributes that `mask` names: set where `given` has the key, removed where it has not.
// IMMUTABLE_FIELD for a path to another field of a session.
absl::StatusOr<AttributePatch> ReadAttributePatch(
    const google::protobuf::Map<std::string, std::string>& given,
    const Repeated<std::string>& paths);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_CONTENTS_H_
