// A client that does nothing but put items into a session of its own.
#ifndef HOLDFAST_BENCH_ITEM_WRITER_H_
#define HOLDFAST_BENCH_ITEM_WRITER_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/served.h"
#include "bench/unary_call.h"
#include "holdfast/v1/item_service.grpc.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

// What one call puts: so many items of fresh bytes.
struct PutShape {
  size_t items = 1;
  size_t item_bytes = 8192;
};

// One open session. Each call appends items to one collection.
class ItemWriter final : public Slot {
 public:
  // Creates the session `id`. `served` must outlive it.
  static absl::StatusOr<std::unique_ptr<ItemWriter>> Make(Served& served, const std::string& id,
                                                          PutShape shape);
  // See Make.
  ItemWriter(Served& served, std::string id, PutShape shape);

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

  // Puts `count` small items, whose keys are numbers of eight digits, into the collection.
  absl::Status Fill(const std::string& collection, uint64_t count);
  // One call that reads; FAILED_PRECONDITION unless it answers `items` items.
  absl::Status Read(const v1::ReadItemsRequest& request, size_t items);
  // FAILED_PRECONDITION unless the session has counted what was acknowledged.
  absl::Status Count();

  [[nodiscard]] const std::string& id() const { return id_; }

 private:
  Served& served_;
  const std::string id_;
  const PutShape shape_;
  std::unique_ptr<v1::ItemService::Stub> items_;  // over a connection of its own
  FreshBytes fresh_;
  uint64_t acknowledged_ = 0;  // items
  v1::PutItemsRequest request_;
  UnaryCall<v1::PutItemsResponse> call_;
};

// `count` writers with the ids `<prefix>-1` and so on.
absl::StatusOr<std::vector<std::unique_ptr<ItemWriter>>> MakeItemWriters(Served& served,
                                                                         const std::string& prefix,
                                                                         size_t count,
                                                                         PutShape shape);

// The key that Fill gives the item of this number.
std::string FilledKey(uint64_t number);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_ITEM_WRITER_H_
