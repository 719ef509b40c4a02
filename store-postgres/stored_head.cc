#include "store-postgres/stored_head.h"

#include "platform/digest.h"
#include "session/answers.h"
#include "session/codec/records.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-postgres/log_rows.h"

#include <string>
#include <utility>

namespace holdfast::pg {
namespace {

enum StoredHeadColumn : size_t {
  kStoredVersion,
  kStoredStore,
  kStoredDeleted,
  kStoredHead,
  kStoredHeadSum,
  kStoredLeaseLeft
};

absl::Status Foreign(std::string_view stored, const StoreId& active) {
  return Refusal(Reason::kResumeMismatch, "this session belongs to another store")
      .With("stored", stored)
      .With("active", active.value());
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): swapped, nothing is ever whole
std::optional<FormerSession> ReadFormer(std::string_view bytes, std::string_view sum) {
  const Digest digest = Sha256(bytes);
  return View(digest) == sum ? DecodeFormer(bytes) : std::nullopt;
}

// A statement that needs no more of the row leaves out the record. A session whose record cannot be
// read stays deleted all the same; no other one can replace it.
StoredHead WithTombstone(const Rows& rows, size_t row, StoredHead stored) {
  if (!rows.IsNull(row, kStoredHead)) {
    stored.former = ReadFormer(rows.Bytes(row, kStoredHead), rows.Bytes(row, kStoredHeadSum));
    stored.sum = DigestFrom(rows.Bytes(row, kStoredHeadSum));
  }
  stored.refusal = stored.former ? SessionWasDeleted(*stored.former)
                                 : Refusal(Reason::kTombstoned, "this session was deleted");
  return stored;
}

}  // namespace

StoredHead ReadStoredHead(const Rows& rows, size_t row, const Database& database) {
  StoredHead stored;
  if (row < rows.size() && !rows.IsNull(row, kStoredVersion)) {
    stored.version = rows.Int(row, kStoredVersion);
  }
  if (stored.version == 0) {
    stored.refusal = SessionIsNotThere();
    return stored;
  }
  const std::string_view store = rows.Text(row, kStoredStore);
  if (store != database.store.value()) {
    stored.refusal = Foreign(store, database.store);
    return stored;
  }
  if (rows.Bool(row, kStoredDeleted)) {
    return WithTombstone(rows, row, std::move(stored));
  }
  std::optional<Head> head =
      ReadHead(rows.Bytes(row, kStoredHead), rows.Bytes(row, kStoredHeadSum));
  if (!head) {
    stored.refusal = Refusal(Reason::kManifestDrift, "the session's record cannot be read")
                         .With("why", "wrong checksum or shape");
    return stored;
  }
  if (head->store != database.store) {
    stored.refusal = Foreign(head->store.value(), database.store);
    return stored;
  }
  head->incarnation = database.incarnation;
  const absl::Time oldest = database.store_clock.Now() - kRequestsKept;
  std::erase_if(head->grants, [&](const GrantRecord& grant) { return grant.at < oldest; });
  Evaluate(LeaseLeft(rows, row, kStoredLeaseLeft), *head);
  stored.head = *std::move(head);
  stored.sum = DigestFrom(rows.Bytes(row, kStoredHeadSum));
  return stored;
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

absl::Time RepliesSince(absl::Time now) { return now - kRequestsKept; }

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
