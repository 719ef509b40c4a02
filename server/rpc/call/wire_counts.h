// How many elements the repeated fields of a request have, counted on its bytes: an element may
// take two bytes on the wire and a hundred in memory, so the count is checked before anything is
// parsed. The same walk rejects negative numbers: the wire's integers are signed, as every language
// has them, and none of ours is below zero.
#ifndef HOLDFAST_SERVER_RPC_CALL_WIRE_COUNTS_H_
#define HOLDFAST_SERVER_RPC_CALL_WIRE_COUNTS_H_

#include "session/bounds.h"
#include "session/limits.h"

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include <grpcpp/support/slice.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// The most elements of a repeated or map field.
struct RepeatedLimit {
  std::string_view message;  // its full name
  std::string_view field;
  size_t most;
  std::string_view named = {};  // in a refusal, if not as the field
};

inline constexpr size_t kValuesPerFilter = 64;

// Every repeated field of every request has one row; a test compares them with the descriptors.
// session/validate.h checks commands by the same names and bounds.
inline constexpr std::array kRepeatedLimits = {
    RepeatedLimit{"google.protobuf.FieldMask", "paths", kAttributesPerSession, "update_mask"},
    RepeatedLimit{"holdfast.v1.AppendAuditRequest", "data", kAuditFacts},
    RepeatedLimit{"holdfast.v1.AppendJournalRequest", "entries", kEntriesPerChange},
    RepeatedLimit{"holdfast.v1.AppendJournalStreamRequest", "entries", kEntriesPerChange},
    RepeatedLimit{"holdfast.v1.BatchGetSessionsRequest", "reads", kSessionsPerBatch},
    RepeatedLimit{"holdfast.v1.CommitTurnRequest", "messages", kMessagesPerChange},
    RepeatedLimit{"holdfast.v1.CommitTurnRequest", "slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.CommitTurnRequest", "deleted_slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.CreateSessionRequest", "messages", kMessagesPerChange},
    RepeatedLimit{"holdfast.v1.CreateSessionRequest", "slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.CreateSessionRequest", "attributes", kAttributesPerSession},
    RepeatedLimit{"holdfast.v1.FinalSnapshot", "messages", kMessagesPerChange},
    RepeatedLimit{"holdfast.v1.FinalSnapshot", "slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.FinalSnapshot", "deleted_slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.Item", "labels", kItemLabels},
    RepeatedLimit{"holdfast.v1.Item", "refs", kItemRefs},
    RepeatedLimit{"holdfast.v1.Compaction", "survived", kSurvivedItems},
    RepeatedLimit{"holdfast.v1.ListCheckpointsRequest", "kinds", kValuesPerFilter},
    RepeatedLimit{"holdfast.v1.ListCheckpointsRequest", "labels", kItemLabels},
    RepeatedLimit{"holdfast.v1.ListSessionsRequest", "lifecycles", kValuesPerFilter},
    RepeatedLimit{"holdfast.v1.ListSessionsRequest", "kinds", kValuesPerFilter},
    RepeatedLimit{"holdfast.v1.ListSessionsRequest", "read_attributes", kAttributesPerSession},
    RepeatedLimit{"holdfast.v1.ListSessionsRequest", "read_slots", kSlotsPerRow},
    RepeatedLimit{"holdfast.v1.ListSlotsRequest", "owners", kOwnersPerRead},
    RepeatedLimit{"holdfast.v1.ListSlotsRequest", "expected_slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.NewCheckpoint", "labels", kItemLabels},
    RepeatedLimit{"holdfast.v1.PutCheckpointRequest", "labels", kItemLabels},
    RepeatedLimit{"holdfast.v1.PutItemsRequest", "puts", kItemPutsPerChange},
    RepeatedLimit{"holdfast.v1.PutItemsRequest", "deletes", kItemDeletesPerChange},
    RepeatedLimit{"holdfast.v1.ReadItemsRequest", "keys", kItemKeysPerRead},
    RepeatedLimit{"holdfast.v1.ReadItemsRequest", "labels", kItemLabels},
    RepeatedLimit{"holdfast.v1.ReadSessionRequest", "owners", kOwnersPerRead},
    RepeatedLimit{"holdfast.v1.ReadSessionRequest", "parts", kValuesPerFilter},
    RepeatedLimit{"holdfast.v1.RenewLeasesRequest", "leases", kLeasesPerRenewal},
    RepeatedLimit{"holdfast.v1.RestoreSessionRequest", "messages", kMessagesPerChange},
    RepeatedLimit{"holdfast.v1.RestoreSessionRequest", "slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.ResumeSessionRequest", "expected_slots", kSlotsPerChange},
    // Of a session that is sent back; only its attributes are looked at.
    RepeatedLimit{"holdfast.v1.Session", "attributes", kAttributesPerSession},
    RepeatedLimit{"holdfast.v1.Session", "cancel_requests", kCancelRequestsPerSession},
    RepeatedLimit{"holdfast.v1.SessionRead", "owners", kSlotsPerRow},
    RepeatedLimit{"holdfast.v1.SessionRead", "items", kItemsPerBatchRead},
    RepeatedLimit{"holdfast.v1.UpdateSessionRequest", "expected_attributes", kAttributesPerSession},
    RepeatedLimit{"holdfast.v1.WriteSnapshotRequest", "messages", kMessagesPerChange},
    RepeatedLimit{"holdfast.v1.WriteSnapshotRequest", "slots", kSlotsPerChange},
    RepeatedLimit{"holdfast.v1.WriteSnapshotRequest", "deleted_slots", kSlotsPerChange},
};

// The row of a field, or nullptr.
const RepeatedLimit* FindRepeatedLimit(const google::protobuf::FieldDescriptor& field);

// How deep messages that hold repeated fields may be nested. A request that would be deeper, or a
// message that contains itself, fails the test of kRepeatedLimits.
inline constexpr size_t kWireDepth = 8;

// What is to be counted in one kind of request, and where: made once, from its descriptor. Any
// thread may use it.
class WireCounts final {
 public:
  // Finds repeated fields in messages within messages, kWireDepth deep. One without a row in
  // kRepeatedLimits is not counted; a test finds it.
  explicit WireCounts(const google::protobuf::Descriptor& request);

  // Walks over the bytes once, without a copy of them and without memory for what they hold.
  // TOO_LARGE for the first field that has more than its row allows, with how many there are. Once
  // a field has four times what its row allows, the rest is not looked at, and costs nothing: then
  // there may be more. INVALID_FIELD on the first number that is negative, by its path without
  // indices, and on `request` for bytes that are no message of any kind. What is OK here may still
  // be none of this kind.
  [[nodiscard]] absl::Status Check(const std::vector<grpc::Slice>& bytes) const;
  [[nodiscard]] absl::Status Check(std::string_view bytes) const;

  // False for a request without any repeated field or number.
  [[nodiscard]] bool looks() const { return !places_.front().fields.empty(); }

 private:
  class Walk;
  // How the elements of a field are written, where several form one record.
  enum class Packing : uint8_t { kNone, kVarint, kFixed32, kFixed64 };
  // The width of an integer that must not be negative.
  enum class Integer : uint8_t { kNone, k32, k64 };
  struct Field {
    uint32_t number = 0;
    Packing packing = Packing::kNone;
    const RepeatedLimit* limit = nullptr;  // of a repeated field
    size_t counter = 0;                    // of a repeated field
    size_t inside = 0;                     // the place that its message is, or 0
    Integer integer = Integer::kNone;
    std::string path = {};  // of an integer, from the request on
  };
  // A message at one path of the request. The request is the first.
  struct Place {
    std::vector<Field> fields;
    // Those of this place and below. Each element of a repeated field counts for itself.
    size_t first_counter = 0;
    size_t end_counter = 0;
    bool element = false;
  };

  static Packing PackingOf(const google::protobuf::FieldDescriptor& field);
  static Integer IntegerOf(const google::protobuf::FieldDescriptor& field);
  // `path` is that of the message, with a dot behind it if it is not the request.
  size_t AddPlace(const google::protobuf::Descriptor& message, const std::string& path,
                  size_t depth, bool element);

  std::vector<Place> places_;
  std::vector<const RepeatedLimit*> counters_;
};

// Requests that were refused by their counts, and those that were parsed, since the process began.
struct WireTotals {
  uint64_t refused = 0;
  uint64_t parsed = 0;
};
WireTotals WireTotalsNow();
void CountRefusedByCount();
void CountParsed();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_WIRE_COUNTS_H_
