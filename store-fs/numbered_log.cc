#include "store-fs/numbered_log.h"

#include "platform/status_macros.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace holdfast::fs {
namespace {

absl::StatusOr<std::vector<std::string>> ReadTail(const LogFiles& where, const NumberedLog& log,
                                                  const Part& part) {
  const auto tail = std::span(log.tail).subspan(part.from - log.tail_first());
  size_t items = 0;
  size_t bytes = 0;
  while (items < std::min(tail.size(), part.items)) {
    bytes += tail[items].size;
    if (items > 0 && bytes > part.bytes) break;
    ++items;
  }
  return ReadExtents(*where.journal, tail.first(items));
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
                : ReadItems(*where.files, *where.key, *segment, wanted);
    if (!part.ok()) return part.status();
    for (const std::string& item : *part) bytes += item.size();
    from += part->size();
    std::ranges::move(*part, std::back_inserter(items));
    if (from < end) break;  // a limit was reached in the middle
  }
  return items;
}

void NumberedLog::Cut(uint64_t last) {
  while (next > last + 1 && !tail.empty()) {
    tail.pop_back();
    --next;
  }
  while (next > last + 1 && !segments.empty()) {
    SegmentInfo& newest = segments.back();
    if (newest.first > last) {
      next = newest.first;
      segments.pop_back();
      continue;
    }
    const uint64_t left = last + 1 - newest.first;
    newest.bytes = newest.bytes / newest.count * left;  // about
    newest.count = left;
    next = last + 1;
  }
}

void PutLog(const NumberedLog& log, Encoder& out) {
  out.Number(log.next).Number(log.segments.size());
  for (const SegmentInfo& info : log.segments) {
    out.Number(info.file).Number(info.first).Number(info.count).Number(info.bytes);
    out.Number(info.index).Number(info.keyed ? 1 : 0);
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
    info.index = in.Number();
    info.keyed = in.Number() == 1;
    info.newest_us = static_cast<int64_t>(in.Number());
    log.segments.push_back(info);
  }
  return log;
}

}  // namespace holdfast::fs
