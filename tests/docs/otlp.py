#!/usr/bin/env python3
"""Decodes the spans of a real server with a receiver that knows OpenTelemetry's own definitions of
the protocol, and not ours.

    tests/docs/otlp.py BUILD_DIRECTORY
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was

import examples  # noqa: E402
import api  # noqa: E402
import span_receiver  # noqa: E402

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SERVICE = "holdfast.v1.SessionService"


def call(address):
    """Two calls in a trace of the client's, the second of which is refused, and one in none."""
    import grpc
    from holdfast.v1.session_service_pb2_grpc import SessionServiceStub

    stub = SessionServiceStub(grpc.insecure_channel(address))
    traced = [("traceparent", f"00-{TRACE}-{CALLER}-01"), ("tracestate", "vendor=x")]
    stub.CreateSession(api.create("one"), metadata=traced)
    try:
        stub.CreateSession(api.create("one"), metadata=traced)
        raise SystemExit("otlp: a session was created twice")
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.ALREADY_EXISTS:
            raise
    stub.CreateSession(api.create("two"))


def expect(found, wanted):
    wrong = {key: found.get(key) for key in wanted if found.get(key) != wanted[key]}
    if wrong:
        raise SystemExit(f"otlp: {wrong} in {found}, not {wanted}")


def check(spans, address):
    servers = [span for span in spans if span["kind"] == "SPAN_KIND_SERVER"]
    if len(servers) != 3:
        raise SystemExit(f"otlp: {len(servers)} calls were decoded, and not 3")
    host, port = address.split(":")
    for span, code, session in zip(servers, ("0", "6", "0"), ("one", "one", "two")):
        expect(span, {"name": f"{SERVICE}/CreateSession", "scope": "holdfast"})
        expect(span["resource"], {"service.name": "holdfast"})
        expect(
            span["attributes"],
            {
                "rpc.system": "grpc",
                "rpc.service": SERVICE,
                "rpc.method": "CreateSession",
                "rpc.grpc.status_code": code,
                "session.id": session,
                "gen_ai.conversation.id": session,
                "server.address": host,
                "server.port": port,
            },
        )
        if not 0 < int(span["start"]) <= int(span["end"]):
            raise SystemExit(f"otlp: the times are wrong in {span}")
    for span in servers[:2]:
        expect(span, {"traceId": TRACE, "parentSpanId": CALLER, "traceState": "vendor=x"})
    expect(servers[1]["attributes"], {"error.type": "SESSION_EXISTS"})
    below = [span for span in spans if span["parentSpanId"] == servers[0]["spanId"]]
    if sorted(span["name"] for span in below) != ["session.transition", "store.Commit"]:
        raise SystemExit(f"otlp: {below} are below {servers[0]}")
    for span in below:
        expect(span, {"traceId": TRACE, "traceState": "vendor=x", "kind": "SPAN_KIND_INTERNAL"})
    expect(servers[2], {"parentSpanId": "", "traceState": ""})
    if servers[2]["traceId"] == TRACE or len({span["spanId"] for span in servers}) != 3:
        raise SystemExit(f"otlp: ids are shared in {servers}")
    print(f"otlp: {len(spans)} spans were decoded")


def main():
    build = os.path.abspath(sys.argv[1])
    api.use_stubs(build)
    receiver = span_receiver.SpanReceiver(build)
    with receiver, tempfile.TemporaryDirectory(prefix="holdfast otlp ") as folder:
        server = examples.Server(os.path.join(build, "bin", "holdfastd"), folder)
        try:
            os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.endpoint
            server.start()
            call(server.address)
            if server.serving.stop() != 0:
                raise SystemExit("otlp: the server did not stop in order")
        finally:
            server.kill()
    check(receiver.spans(), server.address)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
