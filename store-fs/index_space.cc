#include "store-fs/index_space.h"

#include "platform/status_macros.h"
#include "store-fs/bounds.h"
#include "store-fs/layout.h"
#include "store-fs/run_writer.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace holdfast::fs {

absl::StatusOr<std::optional<RunInfo>> IndexSpace::WriteNewer(const RunFiles& where,
                                                              uint64_t file) const {
  if (newer_.entries().empty() || runs_.size() >= kRunsPerSpace) return std::nullopt;
  ASSIGN_OR_RETURN(RunWriter writer,
                   RunWriter::Create(where.files, PathOf(where.key, kind_, file), suffix_));
  for (const auto& [key, value] : newer_.entries()) {
    RETURN_IF_ERROR(writer.Add({.key = key, .value = value}));
  }
  ASSIGN_OR_RETURN(RunInfo info, writer.Finish());
  info.file = file;
  return info;
}

void IndexSpace::AddRun(const RunInfo& info) {
  runs_.push_back(std::make_shared<const SortedRun>(info, kind_));
}

void IndexSpace::ReplaceRuns(const std::set<uint64_t>& files, const std::optional<RunInfo>& by) {
  const auto is_source = [&](const auto& run) { return files.contains(run->info().file); };
  const auto place = std::ranges::find_if(runs_, is_source);
  if (place == runs_.end()) return;
  const auto at = std::distance(runs_.begin(), place);
  std::erase_if(runs_, is_source);
  if (by) runs_.insert(runs_.begin() + at, std::make_shared<const SortedRun>(*by, kind_));
}

void IndexSpace::PutRuns(Encoder& out) const {
  out.Number(runs_.size());
  for (const auto& run : runs_) PutRun(run->info(), out);
}

void IndexSpace::ReadRuns(Decoder& in) {
  const size_t runs = in.Count();
  if (runs > kRunsPerSpace) in.Fail();
  for (size_t left = runs; left > 0 && in.ok(); --left) AddRun(ReadRun(in));
}

}  // namespace holdfast::fs
