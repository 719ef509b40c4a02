#include "bench/item_writer.h"

#include "bench/open_session.h"
#include "platform/status_macros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

namespace holdfast::bench {
namespace {

constexpr uint64_t kFilledAtOnce = 2000;
constexpr size_t kFilledBytes = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<ItemWriter>> ItemWriter::Make(Served& served, const std::string& id,
                                                             PutShape shape) {
  auto writer = std::make_unique<ItemWriter>(served, id, shape);
  RETURN_IF_ERROR(CreateOpenSession(served, id, writer->fresh_));
  return writer;
}

ItemWriter::ItemWriter(Served& served, std::string id, PutShape shape)
    : served_(served),
      id_(std::move(id)),
      shape_(shape),
      items_(v1::ItemService::NewStub(served.NewConnection())) {}

void ItemWriter::Start(grpc::CompletionQueue& queue, void* tag) {
  request_.Clear();
  request_.set_request_id(fresh_.Uuid());
  request_.set_session_id(id_);
  for (size_t i = 0; i < shape_.items; ++i) {
    v1::Item& item = *request_.add_puts()->mutable_item();
    item.set_collection("log");
    item.set_data(fresh_.Take(shape_.item_bytes));
  }
  call_.Start(queue, tag, [&](auto* context, auto* by) {
    return items_->AsyncPutItems(context, request_, by);
  });
}

absl::Status ItemWriter::End() {
  if (!call_.status().ok()) return FailedCall("PutItems", call_.status());
  acknowledged_ += shape_.items;
  return absl::OkStatus();
}

absl::Status ItemWriter::Fill(const std::string& collection, uint64_t count) {
  for (uint64_t number = 0; number < count;) {
    v1::PutItemsRequest request;
    request.set_request_id(fresh_.Uuid());
    request.set_session_id(id_);
    for (const uint64_t end = std::min(count, number + kFilledAtOnce); number < end; ++number) {
      v1::Item& item = *request.add_puts()->mutable_item();
      item.set_collection(collection);
      item.set_key(FilledKey(number));
      item.set_data(fresh_.Take(kFilledBytes));
    }
    grpc::ClientContext context;
    v1::PutItemsResponse response;
    const grpc::Status status = items_->PutItems(&context, request, &response);
    if (!status.ok()) return FailedCall("PutItems", status);
    acknowledged_ += static_cast<uint64_t>(request.puts_size());
  }
  return absl::OkStatus();
}

absl::Status ItemWriter::Read(const v1::ReadItemsRequest& request, size_t items) {
  grpc::ClientContext context;
  const auto reader = items_->ReadItems(&context, request);
  size_t read = 0;
  for (v1::ReadItemsResponse response; reader->Read(&response);) {
    read += static_cast<size_t>(response.pieces_size());
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return FailedCall("ReadItems", status);
  if (read == items) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("a read answers ", read, " items for ", items));
}

absl::Status ItemWriter::Count() {
  ASSIGN_OR_RETURN(const v1::Session session, GetSession(served_, id_));
  const auto counted = static_cast<uint64_t>(session.items_version());
  if (counted == acknowledged_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("a session counts ", counted, " items, and ",
                                                    acknowledged_, " were acknowledged"));
}

absl::StatusOr<std::vector<std::unique_ptr<ItemWriter>>> MakeItemWriters(Served& served,
                                                                         const std::string& prefix,
                                                                         size_t count,
                                                                         PutShape shape) {
  std::vector<std::unique_ptr<ItemWriter>> writers;
  for (size_t number = 1; number <= count; ++number) {
    ASSIGN_OR_RETURN(writers.emplace_back(),
                     ItemWriter::Make(served, absl::StrCat(prefix, "-", number), shape));
  }
  return writers;
}

std::string FilledKey(uint64_t number) { return absl::StrCat(absl::Dec(number, absl::kZeroPad8)); }

}  // namespace holdfast::bench
