#include "cli/item_pages.h"

#include <utility>

namespace holdfast::cli {

bool ItemEntryPage::Add(v1::ReadItemsResponse& response) {
  for (v1::ItemPiece& piece : *response.mutable_pieces()) {
    if (piece.chunk_offset() == 0) {
      items.push_back({.item = std::move(*piece.mutable_item()),
                       .size = piece.total_bytes(),
                       .damaged = piece.damaged(),
                       .session_id = std::move(*piece.mutable_session_id()),
                       .session_uid = std::move(*piece.mutable_session_uid())});
      continue;
    }
    if (items.empty()) return false;
    v1::Item& begun = items.back().item;
    const bool follows = begun.collection() == piece.item().collection() &&
                         begun.key() == piece.item().key() &&
                         static_cast<int64_t>(begun.data().size()) == piece.chunk_offset();
    if (!follows) return false;
    begun.mutable_data()->append(piece.item().data());
    items.back().damaged = items.back().damaged || piece.damaged();
  }
  response.clear_pieces();
  end = std::move(response);
  return true;
}

}  // namespace holdfast::cli
