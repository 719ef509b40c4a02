// Mutants of staging and linking.
#include "tests/contract/mutants.h"

namespace holdfast::test {
namespace {

// Forgets what makes an upload the one that a change means, so that any link is good.
void StageAsLinked(Stage& stage, const Change& change, const std::string& bytes) {
  stage.disk.staged[change.upload->id] = {
      .key = change.key, .bytes = bytes, .touched = stage.clock.SinceBoot()};
}

const std::vector<Mutant> kUploadMutants = {
    {"a-chunk-is-a-message",
     {.ask_stage =
          [](Stage& stage, Chunk& chunk) {
            StoredSession* const session = stage.Find(chunk.key);
            if (session == nullptr) return;
            session->head.messages = session->head.messages.Next();
            session->messages.push_back({.seq = session->head.messages, .data = chunk.bytes});
          }}},
    {"a-repeated-chunk-is-added",
     {.ask_stage =
          [](Stage& stage, Chunk& chunk) {
            const auto found = stage.disk.staged.find(chunk.upload);
            if (found != stage.disk.staged.end()) chunk.offset = found->second.bytes.size();
          }}},
    {"a-drop-does-nothing", {.drop = [](absl::Status&) { return false; }}},
    {"a-second-drop-is-refused",
     {.drop =
          [times = 0](absl::Status& answer) mutable {
            if (++times > 1) answer = absl::NotFoundError("no such upload");
            return times == 1;
          }}},
    {"an-upload-is-linked-and-lost",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer&) {
            StoredSession* const session = stage.Find(change.key);
            if (session != nullptr && change.upload) session->uploads.erase(change.upload->id);
          }}},
    {"uploads-end-with-the-process",
     {.closing =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.uploads.clear();
          }}},
    {"any-link-is-good",
     {.change =
          [](Stage& stage, Change& change) {
            if (!change.upload) return;
            StageAsLinked(stage, change, "anything");
            change.upload->bytes = 8;
            change.upload->sha256 = Sha256("anything");
          }}},
    {"accepts-an-upload-of-another-session",
     {.change =
          [](Stage& stage, Change& change) {
            if (!change.upload) return;
            const auto found = stage.disk.staged.find(change.upload->id);
            if (found != stage.disk.staged.end()) found->second.key = change.key;
          }}},
    {"a-refusal-drops-the-upload",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            const bool refused = answer.ok() && answer->kind == CommitResult::Kind::kRefused;
            if (refused && change.upload) stage.disk.staged.erase(change.upload->id);
          }}},
    {"uploads-are-kept-for-ever",
     {.ask_stage = [](Stage& stage, Chunk&) { stage.before = stage.disk; },
      .due =
          [](Stage& stage, std::vector<SessionKey>&) {
            for (const auto& [id, upload] : stage.before.staged) stage.disk.staged[id] = upload;
          }}},
    {"staged-bytes-begin-late",
     {.staged =
          [](uint64_t offset, absl::StatusOr<std::string>& bytes) {
            if (bytes.ok() && offset > 0 && !bytes->empty()) bytes->erase(0, 1);
          }}},
};

}  // namespace

const std::vector<Mutant>& UploadMutants() { return kUploadMutants; }

}  // namespace holdfast::test
