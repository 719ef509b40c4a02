// The first byte names the method, the rest is its request on the wire: converted, looked through
// for secrets, checked, and given its fingerprint, as every call is before anything is loaded.
#include "server/rpc/convert/commands.h"
#include "session/fingerprint.h"
#include "session/secrets/secret_check.h"
#include "session/validate.h"
#include "tests/fuzz/targets.h"

#include <google/protobuf/stubs/logging.h>

#include <array>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast::fuzz {
namespace {

// Of a command that has nothing to check beside its form.
template <typename Command>
concept HasChecks = requires(const Command& command) {
  Validate(command);
};
template <typename Command>
concept HasFingerprint = requires(const Command& command) {
  StampOf(command);
};

template <typename Request, auto kRead>
void TakeAs(std::string_view bytes) {
  Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto command = kRead(std::move(request));
  if (!command.ok()) return;
  using Command = std::remove_cvref_t<decltype(*command)>;
  if constexpr (requires { CheckSecrets(NoSecrets(), *command); }) {
    (void)CheckSecrets(NoSecrets(), *command);
  }
  if constexpr (HasChecks<Command>) {
    if (!Validate(*command).ok()) return;
  }
  if constexpr (HasFingerprint<Command>) {
    Require(StampOf(*command).fingerprint == StampOf(*command).fingerprint,
            "one command has two fingerprints");
  }
}

constexpr std::array kMethods = {TakeAs<pb::CreateSessionRequest, ReadCreate>,
                                 TakeAs<pb::UpdateSessionRequest, ReadUpdate>,
                                 TakeAs<pb::ResumeSessionRequest, ReadResume>,
                                 TakeAs<pb::BeginTurnRequest, ReadBeginTurn>,
                                 TakeAs<pb::AppendJournalRequest, ReadAppendJournal>,
                                 TakeAs<pb::CommitTurnRequest, ReadCommitTurn>,
                                 TakeAs<pb::AbandonTurnRequest, ReadAbandonTurn>,
                                 TakeAs<pb::CloseSessionRequest, ReadClose>,
                                 TakeAs<pb::DeleteSessionRequest, ReadDelete>,
                                 TakeAs<pb::ReleaseLeaseRequest, ReadRelease>,
                                 TakeAs<pb::GetRequestOutcomeRequest, ReadOutcomeQuery>,
                                 TakeAs<pb::PutItemsRequest, ReadPutItems>,
                                 TakeAs<pb::RestoreSessionRequest, ReadRestore>,
                                 TakeAs<pb::PutCheckpointRequest, ReadPutCheckpoint>,
                                 TakeAs<pb::DeleteCheckpointRequest, ReadDeleteCheckpoint>};

}  // namespace

void Requests(std::string_view bytes) {
  // Protobuf logs every text that is not UTF-8.
  static const bool kSilenced = google::protobuf::SetLogHandler(nullptr) != nullptr;
  (void)kSilenced;
  if (bytes.empty()) return;
  const auto method = static_cast<uint8_t>(bytes.front()) % kMethods.size();
  kMethods.at(method)(bytes.substr(1));
}

}  // namespace holdfast::fuzz
