#include "session/codec/item_facts.h"

#include "platform/encoding.h"
#include "session/limits.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace holdfast {
namespace {

constexpr uint64_t kItemFactsVersion = 1;

enum LabelType : uint8_t { kTextLabel = 1, kIntLabel, kDoubleLabel, kBoolLabel };

struct PutLabelValue {
  Encoder& out;

  void operator()(const std::string& text) const { out.Number(kTextLabel).Text(text); }
  void operator()(int64_t number) const {
    out.Number(kIntLabel).Number(std::bit_cast<uint64_t>(number));
  }
  void operator()(double number) const {
    out.Number(kDoubleLabel).Number(std::bit_cast<uint64_t>(number));
  }
  void operator()(bool flag) const { out.Number(kBoolLabel).Number(flag ? 1 : 0); }
};

void PutLabel(const std::string& name, const LabelValue& value, Encoder& out) {
  out.Text(name);
  std::visit(PutLabelValue{out}, value);
}

LabelValue ReadLabelValue(Decoder& in) {
  const uint64_t type = in.Number();
  if (type == kTextLabel) return std::string(in.Text());
  const uint64_t bits = in.Number();
  switch (type) {
    case kIntLabel:
      return std::bit_cast<int64_t>(bits);
    case kDoubleLabel:
      return std::bit_cast<double>(bits);
    case kBoolLabel:
      if (bits > 1) in.Fail();
      return bits == 1;
    default:
      in.Fail();
      return false;
  }
}

size_t ReadBoundedCount(Decoder& in, size_t most) {
  const size_t count = in.Count();
  if (count <= most) return count;
  in.Fail();
  return 0;
}

}  // namespace

std::string EncodeItemFacts(const Item& item) {
  Encoder out;
  out.Number(kItemFactsVersion).Number(item.labels.size());
  for (const auto& [name, value] : item.labels) PutLabel(name, value, out);
  out.Text(item.content_type).Text(item.parent_key).Number(item.refs.size());
  for (const ItemName& ref : item.refs) out.Text(ref.collection).Text(ref.key);
  return out.Take();
}

bool DecodeItemFacts(std::string_view bytes, Item& item) {
  Decoder in(bytes);
  if (in.Number() != kItemFactsVersion) in.Fail();
  item.labels.clear();
  for (size_t left = ReadBoundedCount(in, kItemLabels); left > 0; --left) {
    std::string name(in.Text());
    item.labels.insert_or_assign(std::move(name), ReadLabelValue(in));
  }
  item.content_type = in.Text();
  item.parent_key = in.Text();
  item.refs.clear();
  for (size_t left = ReadBoundedCount(in, kItemRefs); left > 0; --left) {
    ItemName& ref = item.refs.emplace_back();
    ref.collection = in.Text();
    ref.key = in.Text();
  }
  return in.Done();
}

std::string EncodeLabel(const std::string& name, const LabelValue& value) {
  Encoder out;
  PutLabel(name, value, out);
  return out.Take();
}

}  // namespace holdfast
