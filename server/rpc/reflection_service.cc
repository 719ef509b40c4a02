#include "server/rpc/reflection_service.h"

#include "server/rpc/reflection_reactor.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>

namespace holdfast {
namespace {

using MessageDescriptor = google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

const DescriptorPool& Pool() { return *DescriptorPool::generated_pool(); }

void NotFound(const char* what, Response& out) {
  out.mutable_error_response()->set_error_code(static_cast<int>(grpc::StatusCode::NOT_FOUND));
  out.mutable_error_response()->set_error_message(what);
}

// The file with everything that it imports, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& seen, Response& out) {
  if (!seen.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  out.mutable_file_descriptor_response()->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), seen, out);
}

void AnswerFile(const FileDescriptor* file, const char* otherwise, Response& out) {
  std::set<const FileDescriptor*> seen;
  file == nullptr ? NotFound(otherwise, out) : AddFile(*file, seen, out);
}

void AnswerExtension(const grpc::reflection::v1alpha::ExtensionRequest& asked, Response& out) {
  const MessageDescriptor* type = Pool().FindMessageTypeByName(asked.containing_type());
  const FieldDescriptor* extension =
      type == nullptr ? nullptr : Pool().FindExtensionByNumber(type, asked.extension_number());
  AnswerFile(extension == nullptr ? nullptr : extension->file(), "there is no such extension", out);
}

void AnswerExtensionsOf(const std::string& name, Response& out) {
  const MessageDescriptor* type = Pool().FindMessageTypeByName(name);
  if (type == nullptr) return NotFound("there is no such message", out);
  std::vector<const FieldDescriptor*> extensions;
  Pool().FindAllExtensions(type, &extensions);
  auto& answer = *out.mutable_all_extension_numbers_response();
  answer.set_base_type_name(name);
  for (const FieldDescriptor* extension : extensions) {
    answer.add_extension_number(extension->number());
  }
}

}  // namespace

Response Reflect(const std::vector<std::string>& services,
                 const grpc::reflection::v1alpha::ServerReflectionRequest& request) {
  Response out;
  out.set_valid_host(request.host());
  *out.mutable_original_request() = request;
  if (request.has_file_by_filename()) {
    AnswerFile(Pool().FindFileByName(request.file_by_filename()), "there is no such file", out);
  } else if (request.has_file_containing_symbol()) {
    AnswerFile(Pool().FindFileContainingSymbol(request.file_containing_symbol()),
               "there is no such symbol", out);
  } else if (request.has_file_containing_extension()) {
    AnswerExtension(request.file_containing_extension(), out);
  } else if (request.has_all_extension_numbers_of_type()) {
    AnswerExtensionsOf(request.all_extension_numbers_of_type(), out);
  } else if (request.has_list_services()) {
    for (const std::string& service : services) {
      out.mutable_list_services_response()->add_service()->set_name(service);
    }
  } else {
    NotFound("the request asks for nothing that is known here", out);
  }
  return out;
}

ReflectionService::ReflectionService(Edge& edge, std::vector<std::string> services)
    : edge_(edge), services_(std::move(services)) {
  services_.emplace_back("grpc.reflection.v1alpha.ServerReflection");
}

grpc::ServerBidiReactor<Bytes, Bytes>* ReflectionService::ServerReflectionInfo(
    grpc::CallbackServerContext* context) {
  return StartReflection(edge_, *context, services_, streams_);
}

}  // namespace holdfast
