#!/usr/bin/env python3
"""Uses the example of a graph framework's checkpointer against a real server, and counts its calls.

    tests/docs/checkpointer.py BUILD_DIRECTORY
"""
import collections
import os
import sys
import tempfile
import threading

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from api import generate_stubs  # noqa: E402
from examples import Server  # noqa: E402
from programs import ROOT  # noqa: E402

EXAMPLE = os.path.join(ROOT, "examples", "python")
LINES = 200
WRITERS, WRITES = 8, 25


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"checkpointer: {what}: found {found!r} and not {wanted!r}")


def counting(grpc, calls):
    """A channel's interceptor that counts calls by method."""

    class Counting(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
        def count(self, proceed, details, request):
            calls[details.method.split("/")[-1]] += 1
            return proceed(details, request)

        def intercept_unary_unary(self, proceed, details, request):
            return self.count(proceed, details, request)

        def intercept_unary_stream(self, proceed, details, request):
            return self.count(proceed, details, request)

    return Counting()


def use(store, calls):
    def once(method, act):
        calls.clear()
        result = act()
        expect(dict(calls), {method: 1}, "calls")
        return result

    expect(once("ReadItems", lambda: store.get("t")), None, "a thread that is not there")
    put = lambda *more, **named: once("PutItems", lambda: store.put("t", *more, **named))
    # What is written on a checkpoint before it is there is found with it.
    once("PutItems", lambda: store.put_writes("t", "01", "task", [("a", b"early")]))
    put("01", {"a": ("1", b"a1"), "b": ("1", b"b1")}, {"source": "input"})
    put("02", {"a": ("2", b"a2"), "b": ("1", None)}, {"source": "loop"}, parent="01")
    put("03", {"a": ("2", None), "b": ("2", b"b2")}, {"source": "loop"}, parent="02")
    once("PutItems", lambda: store.put_writes("t", "03", "one", [("a", b"w0"), ("b", b"w1")]))
    once("PutItems", lambda: store.put_writes("t", "01", "two", [("b", b"late")]))

    first = ("01", {"a": b"a1", "b": b"b1"}, [("a", b"early"), ("b", b"late")])
    second = ("02", {"a": b"a2", "b": b"b1"}, [])
    third = ("03", {"a": b"a2", "b": b"b2"}, [("a", b"w0"), ("b", b"w1")])
    read = lambda act, wanted, what: expect(once("ReadItems", act), wanted, what)
    read(lambda: store.get("t"), third, "the newest")
    read(lambda: store.get("t", "01"), first, "an older one")
    read(lambda: store.get("t", "04"), None, "one that is missing")
    read(lambda: store.list("t"), [third, second, first], "the list")
    read(lambda: store.list("t", {"source": "input"}), [first], "the list by metadata")
    read(lambda: store.ancestors("t", "02"), [second, first], "the ancestors")
    once("PutItems", lambda: store.prune("t", "03"))
    read(lambda: store.list("t"), [third], "what is left")
    # A task that is repeated writes the same again.
    store.put_writes("t", "03", "one", [("a", b"w0"), ("b", b"w1")])
    read(lambda: store.get("t"), third, "after a repeated task")
    # Values of more than a part of a stream.
    large = os.urandom(3 * 1024 * 1024)
    put("04", {"a": ("3", large)}, {}, parent="03")
    read(lambda: store.get("t"), ("04", {"a": large}, []), "a large value")
    once("DeleteSession", lambda: store.delete("t"))


def write_at_once(new_store):
    """Tasks of several processes write on one checkpoint of a thread that none of them has made."""
    def write(writer):
        store = new_store()
        for number in range(WRITES):
            store.put_writes("many", "01", f"{writer}/{number:03}", [("a", b"x")])

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = new_store()
    store.put("many", "01", {}, {})
    expect(len(store.get("many")[2]), WRITERS * WRITES, "the writes of all tasks")


def main():
    build = os.path.abspath(sys.argv[1])
    stubs = os.path.join(build, "examples", "python")
    generate_stubs(stubs)
    sys.path[:0] = [stubs, EXAMPLE]
    import grpc
    from checkpointer import Checkpointer

    with open(os.path.join(EXAMPLE, "checkpointer.py"), encoding="utf-8") as file:
        if len(file.readlines()) > LINES:
            raise SystemExit(f"checkpointer: the example has more than {LINES} lines")
    with tempfile.TemporaryDirectory(prefix="holdfast examples ") as folder:
        server = Server(os.path.join(build, "bin", "holdfastd"), folder)
        server.start()
        try:
            calls = collections.Counter()
            channel = grpc.insecure_channel(server.address)
            use(Checkpointer(grpc.intercept_channel(channel, counting(grpc, calls))), calls)
            write_at_once(lambda: Checkpointer(grpc.insecure_channel(server.address)))
        finally:
            server.kill()
    print(f"checkpointer: one call each, and {WRITERS} writers at once")


if __name__ == "__main__":
    main()
