#include "tests/support/valid_requests.h"

#include "holdfast/v1/item_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "platform/digest.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/watch_client.h"

#include "gtest/gtest.h"

#include <map>
#include <set>
#include <utility>

namespace holdfast::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using Stub = WireClient::Stub;

constexpr int kDepthMost = 4;
constexpr char kProjectRoot[] = "/srv/";

// Numbers and enums by the name of their field; every other one keeps its default.
const std::map<std::string, int>& Numbers() {
  static const std::map<std::string, int> kNumbers = {
      {"turn", 1},   {"number", 1},       {"mode", 1},     {"kind", 5},
      {"source", 1}, {"outcome", 1},      {"method", 5},   {"scope", 3},
      {"reason", 1}, {"drift_policy", 2}, {"seconds", 60}, {"trigger", 1}};
  return kNumbers;
}

// Texts by the name of their field.
const std::map<std::string, std::string>& TextsByField() {
  static const std::map<std::string, std::string> kTexts = {
      {"holder", "hostile"},   {"role", "user"},
      {"owner", "ext"},        {"version", "1.0.0"},
      {"data", "{}"},          {"audit_class", "Approval"},
      {"code", "given"},       {"name", "stage"},
      {"payload", "x"},        {"paths", "attributes.title"},
      {"reason", "hostile"},   {"correlation_id", "act-1"},
      {"collection", "notes"}, {"key", "k"}};
  return kTexts;
}

const FieldDescriptor* ChosenOf(const OneofDescriptor& choice) {
  for (int at = 0; at < choice.field_count(); ++at) {
    if (choice.field(at)->name() == "cursor") return choice.field(at);
  }
  return choice.field(0);
}

// What a request is valid without, or is valid only with more beside it.
bool IsLeftOut(const FieldDescriptor& field) {
  static const std::set<std::string> kNames = {
      "create_if_missing", "expected_last", "checkpoint",     "base",
      "final_snapshot",    "drain",         "wait",           "slot",
      "state_machine",     "deleted_slots", "expected_slots", "owners",
      "lifecycles",        "force"};
  const auto* const choice = field.real_containing_oneof();
  // Of several that exclude one another the first, but a cursor rather than a number.
  const FieldDescriptor* const chosen = choice == nullptr ? &field : ChosenOf(*choice);
  return field.is_map() || chosen != &field || kNames.contains(field.name());
}

// The contents of a streamed body follow the request that opens it.
bool Follows(const FieldDescriptor& field, int depth) {
  const std::string& message = field.containing_type()->name();
  const bool opening = message == "CommitTurnRequest" || message == "WriteSnapshotRequest";
  return depth > 0 && opening && field.is_repeated();
}

bool OpensBody(const MethodDescriptor& method) {
  return method.client_streaming() && !method.server_streaming();
}

std::string EndOfBody(const MethodDescriptor& method) {
  pb::StreamEnd end;
  end.set_data_sha256(std::string(View(Sha256(""))));
  std::unique_ptr<Message> request(
      MessageFactory::generated_factory()->GetPrototype(method.input_type())->New());
  const FieldDescriptor* const field = method.input_type()->FindFieldByName("end");
  request->GetReflection()->MutableMessage(request.get(), field)->CopyFrom(end);
  return request->SerializeAsString();
}

}  // namespace

ValidRequests::ValidRequests(const std::string& address, std::string prefix)
    : client_(address),
      sessions_(pb::SessionService::NewStub(Connected(address))),
      prefix_(std::move(prefix)) {
  TakeNewSessions();
  pb::ListSessionsRequest list;
  list.set_page_size(1);
  list.set_project_root(kProjectRoot + prefix_);
  page_token_ = client_.Must(&Stub::ListSessions, list).next_page_token();
}

ValidRequests::Session ValidRequests::NewSession() {
  Session session{.id = prefix_ + "-" + std::to_string(++names_), .token = ""};
  pb::CreateSessionRequest create = test::CreateRequest(session.id);
  create.mutable_manifest()->set_project_root(kProjectRoot + prefix_);
  session.token = client_.Must(&Stub::CreateSession, create).lease_token();
  return session;
}

void ValidRequests::TakeNewSessions() {
  in_turn_ = NewSession();
  client_.Must(&Stub::BeginTurn, test::BeginRequest(in_turn_.id, in_turn_.token));
  cursor_ = CursorOf(in_turn_);
  PutCheckpoint(in_turn_);
  idle_ = NewSession();
}

// It is there already where a server cannot write it.
void ValidRequests::PutCheckpoint(const Session& session) {
  pb::PutCheckpointRequest put;
  put.set_request_id(test::NewRequestId());
  put.set_session_id(session.id);
  put.set_name(TextsByField().at("name"));
  client_.Ask(&Stub::PutCheckpoint, put);
}

std::string ValidRequests::CursorOf(const Session& session) {
  Watch watch(*sessions_, WatchFrom(session.id, 0));
  EXPECT_EQ(watch.Events(1).size(), 1U) << session.id;
  return watch.cursor();
}

std::unique_ptr<Message> ValidRequests::Make(const MethodDescriptor& method) {
  const bool between = method.name() == "BeginTurn" || method.name() == "RestoreSession" ||
                       method.name().starts_with("Write");
  session_ = between ? &idle_ : &in_turn_;
  std::unique_ptr<Message> request(
      MessageFactory::generated_factory()->GetPrototype(method.input_type())->New());
  Fill(*request, 0);
  if (method.name() == "AbandonTurn") {
    const FieldDescriptor* const outcome = method.input_type()->FindFieldByName("outcome");
    request->GetReflection()->SetEnumValue(request.get(), outcome, pb::TURN_OUTCOME_ABANDONED);
  }
  if (auto* put = dynamic_cast<pb::PutCheckpointRequest*>(request.get())) {
    put->clear_update_mask();
    // One that is so already writes nothing.
    (*put->mutable_labels())["number"].set_int_value(++names_);
  }
  if (method.name() == "DeleteCheckpoint") PutCheckpoint(*session_);
  if (auto* restore = dynamic_cast<pb::RestoreSessionRequest*>(request.get())) {
    pb::GetSessionRequest get;
    get.set_session_id(session_->id);
    const auto answer = client_.Ask(&WireClient::Stub::GetSession, get);
    restore->set_expected_revision(answer.reply.session().revision());
  }
  return request;
}

std::vector<std::string> ValidRequests::Opened(const MethodDescriptor& method,
                                               const std::string& request) {
  if (!OpensBody(method)) return {request};
  return {request, EndOfBody(method)};
}

std::vector<std::string> ValidRequests::Followed(const MethodDescriptor& method,
                                                 const std::string& request) {
  if (!method.client_streaming()) return {request};
  std::vector<std::string> requests = {Make(method)->SerializePartialAsString(), request};
  if (OpensBody(method)) requests.push_back(EndOfBody(method));
  return requests;
}

void ValidRequests::Fill(Message& message, int depth) {
  const Reflection& reflection = *message.GetReflection();
  for (int at = 0; at < message.GetDescriptor()->field_count(); ++at) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(at);
    if (IsLeftOut(field) || Follows(field, depth)) continue;
    const auto number = Numbers().find(field.name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (depth + 1 >= kDepthMost) continue;
      Fill(field.is_repeated() ? *reflection.AddMessage(&message, &field)
                               : *reflection.MutableMessage(&message, &field),
           depth + 1);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      FillText(message, field);
    } else if (number == Numbers().end()) {
      continue;
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      // Two enums may be named alike; the first value of each is one that every server takes.
      const bool known = field.enum_type()->FindValueByNumber(number->second) != nullptr;
      reflection.SetEnumValue(&message, &field, known ? number->second : 1);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      reflection.SetInt64(&message, &field, number->second);
    }
  }
}

void ValidRequests::FillText(Message& message, const FieldDescriptor& field) {
  const std::string text = TextFor(field);
  if (text.empty()) return;
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    reflection.AddString(&message, &field, text);
  } else {
    reflection.SetString(&message, &field, text);
  }
}

std::string ValidRequests::TextFor(const FieldDescriptor& field) {
  const std::string& name = field.name();
  if (name == "request_id") return test::NewRequestId();
  if (name == "session_id" && field.containing_type()->name() == "CreateSessionRequest") {
    return prefix_ + "-" + std::to_string(++names_);
  }
  if (name == "session_id") return session_->id;
  // A resume with the current token is a reconnect, which does nothing.
  if (name == "lease_token") return session_->token;
  if (name == "page_token") {
    return field.containing_type()->name() == "ListSessionsRequest" ? page_token_ : "";
  }
  if (name == "cursor") return cursor_;
  if (name == "project_root") return kProjectRoot + prefix_;
  const auto found = TextsByField().find(name);
  return found == TextsByField().end() ? "" : found->second;
}

}  // namespace holdfast::testing
