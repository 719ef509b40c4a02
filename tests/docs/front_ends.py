#!/usr/bin/env python3
"""Uses the examples of front ends against real servers, and counts their calls.

    tests/docs/front_ends.py checkpointer|conversation|agent_state BUILD_DIRECTORY

The last one uses two servers over one database of PostgreSQL.
"""
import collections
import contextlib
import os
import sys
import threading

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from api import generate_stubs  # noqa: E402
from programs import ROOT, Folder, Postgres, Server, done  # noqa: E402

EXAMPLES = os.path.join(ROOT, "examples", "python")
LINES = 200
WRITERS, WRITES = 8, 25


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"front_ends: {what}: found {found!r} and not {wanted!r}")


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


class Front:
    """A counted channel to a server."""

    def __init__(self, address):
        import grpc

        self.calls = collections.Counter()
        plain = grpc.insecure_channel(address)
        self.channel = grpc.intercept_channel(plain, counting(grpc, self.calls))

    def counted(self, wanted, act):
        """What `act` returns, which makes these calls: {method: how many}."""
        self.calls.clear()
        result = act()
        expect(dict(self.calls), wanted, "calls")
        return result

    def once(self, method, act):
        return self.counted({method: 1}, act)


def at_once(act):
    """Calls `act` in WRITERS threads, with the number of each."""
    problems = []

    def run(writer):
        try:
            act(writer)
        except BaseException as problem:  # SystemExit of `expect` too
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def use_checkpoints(front, new_store):
    store, once = new_store(front.channel), front.once
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
    use_deleted_thread(front, store, new_store(front.channel))


def use_deleted_thread(front, store, late):
    import grpc

    once = front.once
    once("DeleteSession", lambda: store.delete("t"))
    write = lambda on: on.put_writes("t", "04", "task", [("a", b"late")])

    def refused(on, reason):
        from checkpointer import reason_of

        try:
            write(on)
        except grpc.RpcError as error:
            return expect(reason_of(error)[0], reason, "a late write")
        raise SystemExit("front_ends: a late write was taken")

    refused(late, "TOMBSTONED")
    expect(once("ReadItems", lambda: store.get("t")), None, "a deleted thread")
    once("PutItems", lambda: store.put("t", "05", {"a": ("1", b"new")}, {}))
    refused(late, "FENCED")
    once("PutItems", lambda: store.put_writes("t", "05", "task", [("a", b"w")]))
    expect(once("ReadItems", lambda: store.list("t")), [("05", {"a": b"new"}, [("a", b"w")])],
           "the thread that is used again")
    once("DeleteSession", lambda: store.delete("t"))


def run_checkpointer(servers):
    """Tasks of several processes write on one checkpoint of a thread that none of them has made."""
    import grpc
    from checkpointer import Checkpointer

    use_checkpoints(Front(servers[0].address), Checkpointer)
    new_store = lambda: Checkpointer(grpc.insecure_channel(servers[0].address))

    def write(writer):
        store = new_store()
        for number in range(WRITES):
            store.put_writes("many", "01", f"{writer}/{number:03}", [("a", b"x")])

    at_once(write)
    store = new_store()
    store.put("many", "01", {}, {})
    expect(len(store.get("many")[2]), WRITERS * WRITES, "the writes of all tasks")


def run_conversation(servers):
    import grpc
    from conversation import Conversation

    front = Front(servers[0].address)
    talk, once = Conversation(front.channel, "talk"), front.once
    said = lambda number: {"role": "user", "content": f"number {number}"}
    expect(once("ReadSession", talk.get_items), [], "one that is not there")
    expect(once("RestoreSession", talk.pop_item), None, "the newest of none")
    once("WriteSnapshot", lambda: talk.add_items([said(0), said(1)]))
    once("WriteSnapshot", lambda: talk.add_items([said(2)]))
    expect(once("ReadSession", talk.get_items), [said(0), said(1), said(2)], "the items")
    expect(once("ReadSession", lambda: talk.get_items(2)), [said(1), said(2)], "the newest")
    expect(once("RestoreSession", talk.pop_item), said(2), "the newest")
    once("WriteSnapshot", lambda: talk.add_items([said(3)]))
    expect(once("ReadSession", talk.get_items), [said(0), said(1), said(3)], "what was added then")
    large = {"role": "user", "content": "x" * (2 * 1024 * 1024)}
    once("WriteSnapshot", lambda: talk.add_items([large]))
    expect(once("ReadSession", lambda: talk.get_items(1)), [large], "a large item")
    once("RestoreSession", talk.clear_session)
    expect(once("ReadSession", talk.get_items), [], "a conversation that was cleared")
    expect(once("RestoreSession", talk.pop_item), None, "the newest of none")

    new_talk = lambda: Conversation(grpc.insecure_channel(servers[0].address), "many")
    at_once(lambda writer: [
        new_talk().add_items([said(writer * WRITES + number)]) for number in range(WRITES)
    ])
    numbers = lambda found: sorted(int(item["content"].split()[-1]) for item in found)
    everything = list(range(WRITERS * WRITES))
    expect(numbers(new_talk().get_items()), everything, "what several processes added")
    popped = []
    at_once(lambda _: popped.extend(new_talk().pop_item() for _ in range(WRITES)))
    expect(numbers(popped), everything, "what several processes took")
    expect(new_talk().pop_item(), None, "the newest of none")


def run_agent_state(servers):
    import grpc
    from agent_state import SessionService, StaleSession

    front, other = (Front(server.address) for server in servers)
    here, there = SessionService(front.channel), SessionService(other.channel)
    state = {"topic": "plants", "app:limit": 3, "user:name": "Ada", "temp:x": 1}
    session = front.counted(
        {"PutItems": 2, "CreateSession": 1}, lambda: here.create_session("app", "ada", state)
    )
    event = lambda number: {"author": "user", "text": f"number {number}"}
    front.once("WriteSnapshot", lambda: here.append_event(session, event(0)))
    front.counted({"PutItems": 1, "WriteSnapshot": 1}, lambda: here.append_event(
        session, event(1), {"topic": "trees", "user:name": "Ada L.", "temp:x": 2}))
    read = lambda on, **more: on.get_session("app", "ada", session.id, **more)
    found = other.counted({"ReadSession": 1, "ReadItems": 2}, lambda: read(there))
    expect(found.events, [event(0), event(1)], "the events at the other server")
    expect(found.state, {"topic": "trees", "app:limit": 3, "user:name": "Ada L."}, "its state")
    expect(read(there, recent_events=1).events, [event(1)], "the newest event")
    expect(found.revision, session.revision, "the revision")
    # What the other server's event has made stale.
    there.append_event(found, event(2))
    try:
        here.append_event(session, event(3))
        raise SystemExit("front_ends: an event on a stale session was taken")
    except StaleSession:
        pass
    session = read(here)
    here.append_event(session, event(3))
    expect(read(there).events, [event(number) for number in range(4)], "all events")
    # State of the user is seen by the user's other sessions, and by no other user's.
    second = here.create_session("app", "ada", session_id="second")
    expect(read(here).state["user:name"], "Ada L.", "the user's state")
    expect(there.get_session("app", "ada", second.id).state,
           {"app:limit": 3, "user:name": "Ada L."}, "the state of another session")
    here.create_session("app", "bob", {"user:name": "Bob"}, "bobs")
    expect(there.get_session("app", "bob", "bobs").state, {"app:limit": 3, "user:name": "Bob"},
           "the state of another user")
    expect(sorted(there.list_sessions("app", "ada")), sorted([session.id, second.id]), "the list")
    other.once("DeleteSession", lambda: there.delete_session(second.id))
    expect(here.get_session("app", "ada", second.id), None, "a deleted session")
    expect(here.get_session("app", "ada", "never"), None, "one that never was")

    def add(writer):
        service = SessionService(grpc.insecure_channel(servers[writer % 2].address))
        for _ in range(WRITES):
            service.update_user_state("app", "ada", "count", lambda value: (value or 0) + 1)

    at_once(add)
    expect(read(here).state["user:count"], WRITERS * WRITES, "what eight writers of a key counted")


RUNS = {
    "checkpointer": run_checkpointer,
    "conversation": run_conversation,
    "agent_state": run_agent_state,
}


def database(stack, folder, build):
    """The DSN of an empty store."""
    postgres = stack.enter_context(Postgres(os.path.join(folder, "cluster"))).start()
    postgres.sql("postgres", "CREATE DATABASE holdfast")
    dsn = postgres.dsn("holdfast")
    holdfastd = os.path.join(build, "bin", "holdfastd")
    done([holdfastd, "migrate"], env=os.environ | {"HOLDFAST_POSTGRES_DSN": dsn})
    return dsn


def main():
    name, build = sys.argv[1], os.path.abspath(sys.argv[2])
    stubs = os.path.join(build, "examples", "python")
    generate_stubs(stubs)
    sys.path[:0] = [stubs, EXAMPLES]
    with open(os.path.join(EXAMPLES, f"{name}.py"), encoding="utf-8") as file:
        if len(file.readlines()) > LINES:
            raise SystemExit(f"front_ends: {name}.py has more than {LINES} lines")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(Folder())
        store, count = {"root": os.path.join(folder, "data")}, 1
        if name == "agent_state":
            store, count = {"dsn": database(stack, folder, build)}, 2
        servers = [
            stack.enter_context(Server(build, folder, f"server-{number}", **store)).start()
            for number in range(count)
        ]
        RUNS[name](servers)
    print(f"front_ends: {name}: as few calls as it says, and {WRITERS} writers at once")


if __name__ == "__main__":
    main()
