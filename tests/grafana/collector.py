#!/usr/bin/env python3
"""Takes spans over OTLP/gRPC: collector.py [--keep FOLDER] ADDRESS [WORD...].

The first line says at which port it listens, for example of 127.0.0.1:0. Each WORD is printed once,
when a message has it: names of spans and of attributes are plain text in it. Nothing else of a
message is needed to answer it: an empty answer takes all of it. Messages are forgotten, or each is
kept as a file of FOLDER.
"""
import argparse
import concurrent.futures
import itertools
import os
import signal
import sys

import grpc

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep")
    parser.add_argument("address")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    missing, numbers = given.words, itertools.count()

    def keep(request):
        """A file that is there is whole."""
        path = os.path.join(given.keep, str(next(numbers)))
        with open(path + ".part", "wb") as file:
            file.write(request)
        os.rename(path + ".part", path)

    def take(request, _):
        if given.keep:
            keep(request)
        for word in [word for word in missing if word.encode() in request]:
            missing.remove(word)
            print(word, flush=True)
        return b""

    # One message at a time.
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    export = grpc.unary_unary_rpc_method_handler(take)
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(SERVICE, {"Export": export})]
    )
    print(server.add_insecure_port(given.address), flush=True)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
