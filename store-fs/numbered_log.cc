#include "store-fs/numbered_log.h"

#include "session/status_macros.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::fs {
namespace {

absl::StatusOr<std::vector<std::string>> ReadTail(const LogFiles& where, const NumberedLog& log,
                                                  const Part& part) {
  std::vector<std::string> items;
  size_t bytes = 0;
  for (size_t at = part.from - log.tail_first(); at < log.tail.size(); ++at) {
    const Extent& extent = log.tail[at];
    if (items.size() == part.items) break;
    if (!items.empty() && bytes + extent.size > part.bytes) break;
    ASSIGN_OR_RETURN(std::string item, ReadExtent(*where.journal, extent));
    bytes += item.size();
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadLog(const LogFiles& where, const NumberedLog& log,
                                                 uint64_t from, size_t most, size_t limit) {
  std::vector<std::string> items;
  size_t bytes = 0;
  from = std::max(from, log.first());
  while (from < log.next && items.size() < most && (items.empty() || bytes < limit)) {
    const auto segment = std::ranges::find_if(log.segments, [&](const SegmentInfo& info) {
      return from >= info.first && from < info.first + info.count;
    });
    const bool in_tail = segment == log.segments.end();
    const uint64_t end = in_tail ? log.next : segment->first + segment->count;
    const size_t room = items.empty() ? limit : limit - bytes;
    const Part wanted{.from = from, .items = most - items.size(), .bytes = room};
    absl::StatusOr<std::vector<std::string>> part =
        in_tail ? ReadTail(where, log, wanted)
                : ReadItems(*where.files, where.prefix + std::to_string(segment->file), *segment,
                            wanted);
    if (!part.ok()) return part.status();
    for (const std::string& item : *part) bytes += item.size();
    from += part->size();
    std::ranges::move(*part, std::back_inserter(items));
    if (from < end) break;  // a limit was reached in the middle
  }
  return items;
}

void PutLog(const NumberedLog& log, Encoder& out) {
  out.Number(log.next).Number(log.segments.size());
  for (const SegmentInfo& info : log.segments) {
    out.Number(info.file).Number(info.first).Number(info.count).Number(info.bytes);
    out.Number(static_cast<uint64_t>(info.newest_us));
  }
}

NumberedLog ReadLogRecord(Decoder& in) {
  NumberedLog log;
  log.next = in.Number();
  for (size_t left = in.Count(); left > 0; --left) {
    SegmentInfo info;
    info.file = in.Number();
    info.first = in.Number();
    info.count = in.Number();
    info.bytes = in.Number();
    info.newest_us = static_cast<int64_t>(in.Number());
    log.segments.push_back(info);
  }
  return log;
}

}  // namespace holdfast::fs
