// Looks through what a caller gives for secrets that must not be stored, before anything is loaded
// or written.
//
//   RETURN_IF_ERROR(CheckSecrets(scanner, command));
#ifndef HOLDFAST_SESSION_SECRETS_SECRET_CHECK_H_
#define HOLDFAST_SESSION_SECRETS_SECRET_CHECK_H_

#include "session/commands.h"
#include "session/secrets/secret_scan.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// A field's path in the request, put together only when something is found there:
// "final_snapshot.slots[2].data".
struct FieldPath {
  std::string_view parent;  // with its dot, or empty
  std::string_view name;
  std::optional<size_t> index;
  std::string_view part;  // of the element, or empty

  [[nodiscard]] std::string Text() const;
};

// Gathers what is found in the fields of one request. For one thread.
class SecretCheck final {
 public:
  // `scanner` must outlive this.
  explicit SecretCheck(const SecretScanner& scanner) : scanner_(scanner) {}

  // Looks for secrets; true when there is none.
  bool Look(const FieldPath& path, std::string_view bytes);
  // Looks for secrets, and for references to secrets that are malformed.
  void LookWithReferences(const FieldPath& path, std::string_view bytes);

  // OK; or SECRET_LEAK with the first place (`field`, `offset`) and all of them (`paths`); or
  // MALFORMED_SECRET_REFERENCE with its place. Never includes the bytes at the place.
  [[nodiscard]] absl::Status ToStatus() const;

 private:
  struct Place {
    std::string field;
    size_t offset = 0;
  };

  const SecretScanner& scanner_;
  std::vector<Place> leaks_;
  size_t leaks_seen_ = 0;
  std::optional<Place> malformed_;
};

// SECRET_LEAK, and MALFORMED_SECRET_REFERENCE, for one place; what a stream answers.
absl::Status SecretLeak(std::string_view field, uint64_t offset);
absl::Status MalformedReference(std::string_view field, uint64_t offset);

// Each looks through every text and all bytes of the command that would be stored, or compared with
// what is stored.
absl::Status CheckSecrets(const SecretScanner& scanner, const CreateCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const UpdateCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const ResumeCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const BeginTurnCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const AppendJournalCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const CommitTurnCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const WriteCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const RestoreCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const AbandonTurnCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const CloseCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const DeleteCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const ReleaseCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const CancelCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const AppendAuditCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const PutItemsCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const PutCheckpointCommand& command);
absl::Status CheckSecrets(const SecretScanner& scanner, const DeleteCheckpointCommand& command);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SECRETS_SECRET_CHECK_H_
