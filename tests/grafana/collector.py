#!/usr/bin/env python3
"""Takes spans over OTLP/gRPC and forgets them: collector.py ADDRESS, for example 127.0.0.1:0.

The first line says at which port it listens. Nothing of a message is needed to answer it: an empty
answer takes all of it.
"""
import concurrent.futures
import signal
import sys

import grpc

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    export = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(SERVICE, {"Export": export})]
    )
    print(server.add_insecure_port(sys.argv[1]), flush=True)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
