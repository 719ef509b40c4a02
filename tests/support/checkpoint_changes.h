// Changes of checkpoints, for cases that speak to a store directly.
#ifndef HOLDFAST_TESTS_SUPPORT_CHECKPOINT_CHANGES_H_
#define HOLDFAST_TESTS_SUPPORT_CHECKPOINT_CHANGES_H_

#include "session/change.h"
#include "session/checkpoint.h"
#include "session/head.h"
#include "session/item.h"
#include "tests/support/changes.h"

#include <string>
#include <vector>

namespace holdfast::test {

// The checkpoint of a snapshot that `head` keeps.
Checkpoint CheckpointAt(const Head& head, Revision revision,
                        CheckpointKind kind = CheckpointKind::kManual);
// A put that takes a name.
CheckpointPut Named(Checkpoint checkpoint, std::string name);

// `change` with these checkpoints, on what `head` has.
Change WithCheckpoints(Change change, const Head& head, std::vector<CheckpointPut> puts,
                       std::vector<ItemName> deletes = {});
// A change of checkpoints alone.
Change OfCheckpoints(Changes& changes, const Head& head, std::vector<CheckpointPut> puts,
                     std::vector<ItemName> deletes = {});

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_CHECKPOINT_CHANGES_H_
