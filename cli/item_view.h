// Journal entries, audit records and slots as rows of tables.
#ifndef HOLDFAST_CLI_ITEM_VIEW_H_
#define HOLDFAST_CLI_ITEM_VIEW_H_

#include "cli/table.h"
#include "holdfast/v1/session.pb.h"

#include <cstdint>

namespace holdfast::cli {

Row JournalHeading();
// Data that is text is shown shortened, other data as its size alone.
Row JournalRow(const v1::JournalEntry& entry);

Row AuditHeading();
Row AuditRow(const v1::AuditRecord& record);

Row SlotHeading();
// `size`: the bytes of the slot's data, which `slot` may be without.
Row SlotRow(const v1::Slot& slot, int64_t size);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEM_VIEW_H_
