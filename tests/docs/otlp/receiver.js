// Receives spans by the protocol's own definitions, and prints each as a line of JSON with the
// attributes of its resource. The first line says where it listens.
//
//   node receiver.js FOLDER_OF_THE_DEFINITIONS
const grpc = require("@grpc/grpc-js");
const { loadSync } = require("@grpc/proto-loader");

const options = { includeDirs: [process.argv[2]], keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };
const root = grpc.loadPackageDefinition(loadSync("trace_service.proto", options));
const { service } = root.opentelemetry.proto.collector.trace.v1.TraceService;

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const values = (attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value[value.value]]));

function write(resource, scope, span) {
  const line = {
    name: span.name,
    kind: span.kind,
    traceId: hex(span.trace_id),
    spanId: hex(span.span_id),
    parentSpanId: hex(span.parent_span_id),
    traceState: span.trace_state,
    flags: span.flags,
    start: span.start_time_unix_nano,
    end: span.end_time_unix_nano,
    status: span.status ? span.status.code : "STATUS_CODE_UNSET",
    attributes: values(span.attributes),
    links: span.links.map((link) => ({ traceId: hex(link.trace_id), spanId: hex(link.span_id), attributes: values(link.attributes) })),
    events: span.events.map((event) => ({ name: event.name, attributes: values(event.attributes) })),
    scope: scope.name,
    resource: values(resource.attributes),
  };
  process.stdout.write(JSON.stringify(line) + "\n");
}

const server = new grpc.Server();
server.addService(service, {
  export: (call, answer) => {
    for (const ofProcess of call.request.resource_spans) {
      for (const ofScope of ofProcess.scope_spans) {
        for (const span of ofScope.spans) write(ofProcess.resource, ofScope.scope, span);
      }
    }
    answer(null, {});
  },
});
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.stdout.write(`${port}\n`);
});
