#include "tests/hostile/bad_requests.h"

#include "holdfast/v1/admin_service.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "session/limits.h"
#include "tests/hostile/wire_value.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string_view>
#include <utility>

namespace holdfast::hostile {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Deeper than any message of the API, which would otherwise recurse without end.
constexpr int kDepthMost = 4;
// A request that is larger is refused for its size alone.
constexpr size_t kRequestBytes = kUnaryRequestBytes - kKiB;

// The fields from the request down to the one that is bad.
using Path = std::vector<const FieldDescriptor*>;
// The bytes that take the place of the field at the end of a path.
using MakeField = std::function<std::string()>;

std::string NameOf(const Path& path) {
  std::string name;
  for (const FieldDescriptor* const field : path) {
    if (!name.empty()) name += '.';
    name += field->name();
  }
  return name;
}

// `message` with the field at `path[at...]` replaced by `field`.
std::string Replaced(const Message& message, const Path& path, size_t at,
                     const std::string& field) {
  const std::unique_ptr<Message> rest(message.New());
  rest->CopyFrom(message);
  const Reflection& reflection = *message.GetReflection();
  reflection.ClearField(rest.get(), path[at]);
  std::string bytes = rest->SerializePartialAsString();
  if (at + 1 == path.size()) return bytes + field;
  const FieldDescriptor* const outer = path[at];
  const std::unique_ptr<Message> fresh(
      reflection.GetMessageFactory()->GetPrototype(outer->message_type())->New());
  const Message* inner = fresh.get();
  if (!outer->is_repeated()) {
    inner = &reflection.GetMessage(message, outer);
  } else if (reflection.FieldSize(message, outer) > 0) {
    inner = &reflection.GetRepeatedMessage(message, outer, 0);
  }
  return bytes + BytesField(outer->number(), Replaced(*inner, path, at + 1, field));
}

// The text at the end of `path`, of the first element of each repeated field on the way; empty
// where one is absent.
std::string TextAt(const Message& message, const Path& path) {
  const Message* at = &message;
  for (const FieldDescriptor* const field : path) {
    const Reflection& reflection = *at->GetReflection();
    if (field->message_type() == nullptr) return reflection.GetString(*at, field);
    if (!field->is_repeated()) {
      at = &reflection.GetMessage(*at, field);
    } else if (reflection.FieldSize(*at, field) > 0) {
      at = &reflection.GetRepeatedMessage(*at, field, 0);
    } else {
      break;
    }
  }
  return "";
}

struct Value {
  std::string what;
  MakeField make;
};

void AddNumbers(int number, std::vector<Value>& values) {
  constexpr std::array<uint64_t, 8> kNumbers = {0,
                                                1,
                                                99,
                                                std::numeric_limits<int32_t>::max(),
                                                std::numeric_limits<uint32_t>::max(),
                                                std::numeric_limits<int64_t>::max(),
                                                uint64_t{1} << 63U,
                                                std::numeric_limits<uint64_t>::max()};
  for (const uint64_t value : kNumbers) {
    values.push_back({std::to_string(value), [=] { return NumberField(number, value); }});
  }
}

void AddTexts(int number, uint64_t seed, std::vector<Value>& values) {
  const auto add = [&](std::string what, std::string text) {
    values.push_back(
        {std::move(what), [number, text = std::move(text)] { return BytesField(number, text); }});
  };
  add("empty", "");
  add("blank", " ");
  add("NUL", std::string("a\0b", 3));
  add("not UTF-8", "\xff\xfe");
  add("half a character",
      "ab"
      "\xe2\x80");
  add("way out", "../../etc/passwd");
  add("turns the line around",
      "\xe2\x80\xae"
      "abc");
  add(
      "a letter of a thousand marks", "a" + [] {
        std::string marks;
        for (int i = 0; i < 1000; ++i) marks += "\xcc\x81";
        return marks;
      }());
  add("a line and an escape", "a\r\n\x1b[2J{\"x\":1}");
  add("64 KiB", std::string(64 * kKiB, 'x'));
  values.push_back({"3 MiB", [number] { return BytesField(number, std::string(3 * kMiB, 'y')); }});
  std::mt19937_64 random(seed);
  std::string noise(100, '\0');
  for (char& byte : noise) byte = static_cast<char>(random() & 0x7fU);
  add("noise", noise);
}

// The smallest element, distinct for each `at` where the field is a map.
std::string Element(const FieldDescriptor& field, uint64_t at) {
  if (field.is_map()) {
    return BytesField(field.number(), BytesField(1, std::to_string(at)) + BytesField(2, "v"));
  }
  if (field.message_type() != nullptr || field.type() == FieldDescriptor::TYPE_STRING ||
      field.type() == FieldDescriptor::TYPE_BYTES) {
    return BytesField(field.number(), "");
  }
  return NumberField(field.number(), 1);
}

void AddCounts(const FieldDescriptor& field, std::vector<Value>& values) {
  // At and over every limit on a count, and as many as a request holds.
  constexpr std::array<uint64_t, 11> kCounts = {0,    1,    64,   65,   256,    257,
                                                1000, 1001, 4096, 4097, 100'000};
  for (const uint64_t count : kCounts) {
    values.push_back({std::to_string(count) + " times", [&field, count] {
                        std::string bytes;
                        for (uint64_t at = 0; at < count; ++at) bytes += Element(field, at);
                        return bytes;
                      }});
  }
  values.push_back({"as often as goes in", [&field] {
                      std::string bytes;
                      const std::string element = Element(field, 0);
                      bytes.reserve(kRequestBytes);
                      while (bytes.size() + element.size() < kRequestBytes) bytes += element;
                      return bytes;
                    }});
}

void AddMessages(const FieldDescriptor& field, std::vector<Value>& values) {
  const int number = field.number();
  values.push_back({"absent", [] { return std::string(); }});
  values.push_back({"empty", [=] { return BytesField(number, ""); }});
  values.push_back({"no message", [=] { return BytesField(number, "\x07\xff\xff"); }});
  values.push_back(
      {"an unknown field", [=] { return BytesField(number, BytesField(5000, "unknown")); }});
}

std::vector<Value> ValuesOf(const FieldDescriptor& field, uint64_t seed) {
  std::vector<Value> values;
  const int number = field.number();
  values.push_back({"another wire type", [=] { return FixedField(number); }});
  values.push_back({"cut", [=] { return BytesField(number, "x").substr(0, 1) + "\x7f"; }});
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      AddTexts(number, seed, values);
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      AddMessages(field, values);
      break;
    default:
      AddNumbers(number, values);
      break;
  }
  if (field.is_repeated()) AddCounts(field, values);
  return values;
}

void VisitFields(const Descriptor& message, Path& path,
                 const std::function<void(const Path&)>& visit) {
  for (int at = 0; at < message.field_count(); ++at) {
    const FieldDescriptor* const field = message.field(at);
    path.push_back(field);
    visit(path);
    const Descriptor* const inner = field->message_type();
    const int depth = static_cast<int>(path.size());
    if (inner != nullptr && !field->is_map() && depth < kDepthMost) {
      VisitFields(*inner, path, visit);
    }
    path.pop_back();
  }
}

bool IsSecret(const std::string& name) {
  return name == "lease_token" || name == "page_token" || name == "cursor";
}

std::string Mutated(std::string text, std::mt19937_64& random) {
  if (text.empty()) text = "x";
  const size_t at = random() % text.size();
  switch (random() % 7) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ static_cast<char>(1U << (random() % 7)));
      break;
    case 1:
      text.resize(at);
      break;
    case 2:
      text.insert(at, 1, static_cast<char>('!' + random() % 90));
      break;
    case 3:
      text += text;
      break;
    case 4:
      std::ranges::transform(text, text.begin(), [](char c) {
        return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      });
      break;
    case 5:
      text += '=';
      break;
    default:
      std::swap(text[at], text[random() % text.size()]);
      break;
  }
  return text;
}

}  // namespace

std::vector<MakeBad> BadFields(const MakeRequest& make, uint64_t seed) {
  std::vector<MakeBad> bad;
  Path path;
  VisitFields(*make()->GetDescriptor(), path, [&](const Path& found) {
    for (const Value& value : ValuesOf(*found.back(), seed)) {
      bad.push_back([make, found, value] {
        return BadRequest{.what = NameOf(found) + ": " + value.what,
                          .bytes = Replaced(*make(), found, 0, value.make())};
      });
    }
  });
  return bad;
}

std::vector<MakeBad> MutatedSecrets(const MakeRequest& make, int count, uint64_t seed) {
  std::vector<MakeBad> bad;
  Path path;
  VisitFields(*make()->GetDescriptor(), path, [&](const Path& secret) {
    if (!IsSecret(secret.back()->name())) return;
    for (int at = 0; at < count; ++at) {
      bad.push_back([=] {
        std::mt19937_64 random(seed + static_cast<uint64_t>(at));
        const std::unique_ptr<Message> request = make();
        const std::string text = Mutated(TextAt(*request, secret), random);
        return BadRequest{
            .what = NameOf(secret) + ": mutation " + std::to_string(at),
            .bytes = Replaced(*request, secret, 0, BytesField(secret.back()->number(), text))};
      });
    }
  });
  return bad;
}

std::vector<MakeBad> RandomBytes(const MakeRequest& make, int count, uint64_t seed) {
  std::vector<MakeBad> bad;
  for (int at = 0; at < count; ++at) {
    bad.push_back([=] {
      std::mt19937_64 random(seed + static_cast<uint64_t>(at));
      std::string bytes(random() % 300, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() & 0xffU);
      return BadRequest{.what = "random bytes " + std::to_string(at), .bytes = bytes};
    });
    bad.push_back([=] {
      std::mt19937_64 random(seed + static_cast<uint64_t>(at));
      std::string bytes = make()->SerializePartialAsString();
      const uint64_t changes = 1 + random() % 4;
      for (uint64_t change = 0; change < changes && !bytes.empty(); ++change) {
        bytes[random() % bytes.size()] = static_cast<char>(random() & 0xffU);
      }
      return BadRequest{.what = "changed bytes " + std::to_string(at), .bytes = bytes};
    });
  }
  return bad;
}

}  // namespace holdfast::hostile
