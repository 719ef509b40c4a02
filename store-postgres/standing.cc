#include "store-postgres/standing.h"

#include "session/answers.h"
#include "session/codec/records.h"
#include "session/digest.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "store-postgres/log_rows.h"

#include <string>
#include <utility>

namespace holdfast::pg {
namespace {

enum Column : size_t { kVersion, kStore, kDeleted, kHead, kHeadSum, kLeaseLeft };

absl::Status Foreign(std::string_view stored, const StoreId& active) {
  return Refusal(Reason::kResumeMismatch, "this session belongs to another store")
      .With("stored", stored)
      .With("active", active.value());
}

}  // namespace

Standing ReadStanding(const Rows& rows, size_t row, const Database& database) {
  Standing standing;
  if (row < rows.size() && !rows.IsNull(row, kVersion)) standing.version = rows.Int(row, kVersion);
  if (standing.version == 0) {
    standing.refusal = SessionIsNotThere();
    return standing;
  }
  const std::string_view store = rows.Text(row, kStore);
  if (store != database.store.value()) {
    standing.refusal = Foreign(store, database.store);
    return standing;
  }
  if (rows.Bool(row, kDeleted)) {
    standing.refusal = Refusal(Reason::kTombstoned, "this session was deleted");
    return standing;
  }
  std::optional<Head> head = ReadHead(rows.Bytes(row, kHead), rows.Bytes(row, kHeadSum));
  if (!head) {
    standing.refusal = Refusal(Reason::kManifestDrift, "the session's record cannot be read")
                           .With("why", "wrong checksum or shape");
    return standing;
  }
  if (head->store != database.store) {
    standing.refusal = Foreign(head->store.value(), database.store);
    return standing;
  }
  head->incarnation = database.incarnation;
  const absl::Time oldest = database.store_clock.Now() - kRequestsKept;
  std::erase_if(head->grants, [&](const GrantRecord& grant) { return grant.at < oldest; });
  std::optional<absl::Duration> left = LeaseLeft(rows, row, kLeaseLeft);
  if (Sabotaged(Saboteur::kLeaseByOwnClock) && left && !head->grants.empty()) {
    left = head->grants.back().at + head->lease.ttl - database.Now();
  }
  Evaluate(left, *head);
  standing.head = *std::move(head);
  standing.sum = DigestFrom(rows.Bytes(row, kHeadSum));
  return standing;
}

absl::StatusOr<std::optional<RequestRow>> ReadRequest(const Rows& rows, size_t row, size_t column,
                                                      const Head& head) {
  if (row >= rows.size() || rows.IsNull(row, column)) return std::nullopt;
  std::optional<Acts> acts = ReadActs(rows.Bytes(row, column));
  if (!acts || !acts->request) return Damaged("request", 0);
  RequestRow request = *std::move(acts->request);
  if (acts->granted && request.receipt.epoch == head.lease.epoch) {
    request.receipt.token = rows.Text(row, column + 1);
  }
  return request;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): swapped, nothing is ever whole
std::optional<Head> ReadHead(std::string_view bytes, std::string_view sum) {
  const Digest digest = Sha256(bytes);
  if (View(digest) != sum) return std::nullopt;
  return DecodeHead(bytes);
}

std::optional<JournalEntry> ReadEntry(const Rows& rows, size_t row, size_t column) {
  std::optional<JournalEntry> entry = DecodeEntry(rows.Bytes(row, column));
  if (!entry || rows.IsNull(row, column + 1)) return entry;
  entry->slot = ReadSlot(rows, row, column + 1);
  if (!entry->slot) return std::nullopt;
  return entry;
}

std::optional<Slot> ReadSlot(const Rows& rows, size_t row, size_t column) {
  std::optional<Slot> slot = DecodeSlot(rows.Bytes(row, column));
  if (slot && !rows.IsNull(row, column + 1)) slot->data = rows.Bytes(row, column + 1);
  return slot;
}

absl::Time RepliesSince(absl::Time now) {
  if (Sabotaged(Saboteur::kNoRequestCheck)) return absl::InfiniteFuture();
  return now - kRequestsKept;
}

void Evaluate(std::optional<absl::Duration> left, Head& head) {
  LeaseRecord& lease = head.lease;
  lease.expires_in = left.value_or(absl::ZeroDuration());
  lease.state = LeaseState::kFree;
  if (!left) return;
  lease.state = *left > absl::ZeroDuration() ? LeaseState::kLive : LeaseState::kExpired;
}

std::optional<absl::Duration> LeaseLeft(const Rows& rows, size_t row, size_t column) {
  if (rows.IsNull(row, column)) return std::nullopt;
  return rows.Interval(row, column);
}

}  // namespace holdfast::pg
