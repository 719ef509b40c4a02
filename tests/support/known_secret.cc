#include "tests/support/known_secret.h"

#include "platform/digest.h"
#include "tests/support/channel.h"
#include "tests/support/field_behavior.h"
#include "tests/support/requests.h"
#include "tests/support/wire_client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using Stub = WireClient::Stub;

constexpr std::string_view kUpdated = "session.";

// One text or bytes in a request: its path as a refusal names it, and how it is set.
struct Leaf {
  std::string path;
  std::function<void(const std::string&)> set;
};

// Fills a request of any kind so that the server takes it apart, and lists its texts.
class Filler {
 public:
  Filler(std::string session, std::string token)
      : session_(std::move(session)), token_(std::move(token)) {}

  std::vector<Leaf> Fill(Message& message) {
    leaves_.clear();
    is_checkpoint_ = message.GetDescriptor()->name() == "PutCheckpointRequest";
    FillIn(message, "");
    return std::move(leaves_);
  }

 private:
  std::string TextFor(const std::string& name) {
    if (name == "request_id") return request_;
    if (name == "session_id") return session_;
    if (name == "lease_token") return token_;
    if (name == "expected_store_id" || name == "session_uid" || name == "reuse_deleted") {
      return test::NewRequestId();
    }
    if (name == "paths") return is_checkpoint_ ? "name" : "attributes.key";
    if (name == "key") return name;
    if (name == "history_digest") return std::string(kDigestBytes, 'x');
    return "x";
  }

  void FillText(Message& message, const FieldDescriptor& field, const std::string& path) {
    const auto* access = message.GetReflection();
    if (field.is_repeated()) {
      access->AddString(&message, &field, TextFor(field.name()));
      leaves_.push_back({path + "[0]", [access, &message, &field](const std::string& text) {
                           access->SetRepeatedString(&message, &field, 0, text);
                         }});
    } else {
      // A request inside a request takes its ids from the outer one.
      const bool inner_id =
          path == "create_if_missing.request_id" || path == "create_if_missing.session_id";
      if (!inner_id) access->SetString(&message, &field, TextFor(field.name()));
      leaves_.push_back({path, [access, &message, &field](const std::string& text) {
                           access->SetString(&message, &field, text);
                         }});
    }
  }

  void FillMessage(Message& message, const FieldDescriptor& field, const std::string& path) {
    const std::string& type = field.message_type()->full_name();
    if (type == "google.protobuf.Duration" || type == "google.protobuf.Timestamp") return;
    const auto* access = message.GetReflection();
    if (field.is_repeated()) {
      FillIn(*access->AddMessage(&message, &field), path + "[0].");
    } else {
      FillIn(*access->MutableMessage(&message, &field), path + ".");
    }
  }

  void FillIn(Message& message, const std::string& parent) {
    const Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (test::BehaviorsOf(field).contains(google::api::OUTPUT_ONLY)) continue;
      const std::string path = parent + field.name();
      const auto* access = message.GetReflection();
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        FillText(message, field, path);
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        FillMessage(message, field, path);
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM && !field.is_repeated()) {
        access->SetEnumValue(&message, &field, 1);
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL && !field.is_repeated()) {
        access->SetBool(&message, &field, true);
      }
    }
  }

  const std::string session_;
  const std::string token_;
  const std::string request_ = test::NewRequestId();
  bool is_checkpoint_ = false;
  std::vector<Leaf> leaves_;
};

// Returns the name of a field in a refusal. A refusal names the key or value of a map entry by the
// map, and a field of an updated session as the update mask names it.
std::string AsRefused(std::string path) {
  if (path.starts_with(kUpdated)) path.erase(0, kUpdated.size());
  for (const auto& [wire, shown] :
       std::map<std::string, std::string>{{"attributes[0].key", "attributes"},
                                          {"attributes[0].value", "attributes.key"},
                                          {"labels[0].key", "labels"},
                                          {"labels[0].value.string_value", "labels.key"},
                                          {"data[0].key", "data"},
                                          {"data[0].value", "data.key"}}) {
    if (path.ends_with(wire)) path.replace(path.size() - wire.size(), wire.size(), shown);
  }
  return path;
}

// Places where a text is refused before it could be stored, for it can never be right there.
bool IsRefusedAnyway(const std::string& path) {
  static const std::set<std::string> kFields = {
      "base.history_digest",          "lease_token",
      "update_mask.paths[0]",         "create_if_missing.request_id",
      "create_if_missing.session_id", "method"};
  return kFields.contains(path);
}

// What the mask of an update does not name is left where it is.
bool IsOutsideMask(const MethodDescriptor& method, const std::string& path) {
  if (method.name() == "PutCheckpoint") return path.starts_with("labels[0].");
  return method.name() == "UpdateSession" && path == "session.attributes[0].key";
}

bool Writes(const MethodDescriptor& method) {
  if (method.name() == "GetRequestOutcome") return false;
  return method.input_type()->FindFieldByName("request_id") != nullptr ||
         method.input_type()->FindFieldByName("entries") != nullptr;
}

// Sends `request` to a method by its name.
Verdict Send(const std::shared_ptr<grpc::Channel>& channel, const MethodDescriptor& method,
             const Message& request) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
  context.AddMetadata("traceparent", kTraced);
  const grpc::Slice slice(request.SerializeAsString());
  const grpc::ByteBuffer bytes(&slice, 1);
  const auto call = stub.PrepareUnaryCall(
      &context, "/" + method.service()->full_name() + "/" + method.name(), bytes, &queue);
  grpc::ByteBuffer reply;
  grpc::Status status;
  void* tag = nullptr;
  bool ok = false;
  call->StartCall();
  call->Finish(&reply, &status, &reply);
  queue.Next(&tag, &ok);
  return VerdictOf(status);
}

// The canary in the field `path`, as `at` says, is refused by its place and not repeated.
void ExpectRefused(const Verdict& verdict, const std::string& path, const std::string& at) {
  EXPECT_FALSE(absl::StrContains(verdict.message, kCanary)) << at;
  for (const auto& [name, fact] : verdict.facts) {
    EXPECT_FALSE(absl::StrContains(fact, kCanary)) << at << " " << name;
  }
  if (IsRefusedAnyway(path)) {
    EXPECT_EQ(verdict.reason, "INVALID_FIELD") << at;
    return;
  }
  ASSERT_EQ(verdict.reason, "SECRET_LEAK") << at << ": " << verdict.message;
  ASSERT_EQ(verdict.facts.count("field"), 1) << at;
  EXPECT_EQ(verdict.facts.at("field"), AsRefused(path)) << at;
  EXPECT_EQ(verdict.facts.at("offset"), path.ends_with("project_root") ? "1" : "0") << at;
}

}  // namespace

void ExpectRefusedEverywhere(const std::string& address, const std::string& session,
                             const std::string& token) {
  const auto channel = Connected(address);
  WireClient client(address);
  const auto& service = *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "holdfast.v1.SessionService");
  int fields = 0;
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    if (!Writes(method) || method.client_streaming()) continue;
    const auto request =
        std::unique_ptr<Message>(google::protobuf::MessageFactory::generated_factory()
                                     ->GetPrototype(method.input_type())
                                     ->New());
    const size_t count = Filler(session, token).Fill(*request).size();
    for (size_t leaf = 0; leaf < count; ++leaf, ++fields) {
      request->Clear();
      const std::vector<Leaf> leaves = Filler(session, token).Fill(*request);
      const std::string& path = leaves[leaf].path;
      if (IsOutsideMask(method, path)) continue;
      leaves[leaf].set(path.ends_with("project_root") ? absl::StrCat("/", kCanary) : kCanary);
      ExpectRefused(Send(channel, method, *request), path, absl::StrCat(method.name(), " ", path));
    }
  }
  EXPECT_GE(fields, 80);

  // In an attribute that an update names, too; and as the name of a session that is only read.
  pb::UpdateSessionRequest update;
  update.set_request_id(test::NewRequestId());
  update.mutable_session()->set_session_id(session);
  (*update.mutable_session()->mutable_attributes())[kCanary] = "value";
  update.mutable_update_mask()->add_paths(absl::StrCat("attributes.", kCanary));
  EXPECT_EQ(client.Reason(&Stub::UpdateSession, update), "SECRET_LEAK");
  pb::GetSessionRequest get;
  get.set_session_id(kCanary);
  EXPECT_EQ(client.Reason(&Stub::GetSession, get), "SESSION_NOT_FOUND");
  // A renewal writes nothing.
  client.Renew(kCanary, token);
}

}  // namespace holdfast::testing
