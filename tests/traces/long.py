#!/usr/bin/env python3
"""Holds the spans of a real server against the collector of OpenTelemetry: what it decodes must be
the calls that the server has logged, and below them what each call did.

    tests/traces/long.py BUILD_DIRECTORY

The collector is built of its modules the first time, which takes minutes, and kept in the user's
cache (tests/support/golang.py). What begins with `report: ` is said in docs/reports/collector.md.
"""
import collections
import contextlib
import copy
import json
import os
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

import decoded  # noqa: E402
import golang  # noqa: E402
from programs import (  # noqa: E402
    CONVERSATION,
    ROOT,
    WAIT_SECONDS,
    Folder,
    Serving,
    done,
    expect,
    outcome,
    wait_for,
)

SERVICE = "holdfast.v1.SessionService"
COLLECTOR = "go.opentelemetry.io/collector/otelcol"
READY = "Everything is ready"
# Method -> the transitions that its call makes. What is not here changes nothing that a span names.
TRANSITIONS = {
    "CreateSession": {("Create", None, "IDLE")},
    "BeginTurn": {("BeginTurn", "IDLE", "ACTIVE"), ("BeginTurn", "PERSISTED", "ACTIVE")},
    "CommitTurn": {("CommitTurn", "ACTIVE", "PERSISTED")},
}
COMMITS = {*TRANSITIONS, "AppendJournal"}  # whose call is one change of the store
CALLS_LEAST = 20


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Collector:
    """Serves within `with`; what it decodes goes to a file."""

    def __init__(self, program, folder):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            self.endpoint = f"127.0.0.1:{held.getsockname()[1]}"
        self.output = os.path.join(folder, "decoded")
        self.log = os.path.join(folder, "collector.log")
        config = write(
            os.path.join(folder, "collector.yaml"),
            f"receivers: {{otlp: {{protocols: {{grpc: {{endpoint: '{self.endpoint}'}}}}}}}}\n"
            "exporters: {debug: {verbosity: detailed, use_internal_logger: false}}\n"
            "service:\n"
            "  telemetry: {metrics: {level: none}}\n"
            "  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}\n",
        )
        with open(self.output, "wb") as out, open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, f"--config=file:{config}"],
                stdout=out,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def __enter__(self):
        try:
            wait_for("the collector", self._is_ready)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _is_ready(self):
        expect(self.process.poll() is None, f"the collector ended: {read(self.log)}")
        return READY in read(self.log)

    def stop(self):
        """All that it has decoded."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WAIT_SECONDS)
        expect(code == 0, f"the collector ended with {code}: {read(self.log)}")
        return decoded.spans(read(self.output))


def served(build, folder, endpoint):
    """The lines of the server's log after a conversation, from all of it to its orderly end."""
    config = write(
        os.path.join(folder, "holdfastd.yaml"),
        "server: {address: '127.0.0.1:0'}\n"
        f"stores: [{{name: local, active: true, root: {folder}/root}}]\n"
        f"telemetry: {{otlp_endpoint: '{endpoint}', sampled_roots_per_second: 10000}}\n",
    )
    log = os.path.join(folder, "log")
    server = Serving([os.path.join(build, "bin", "holdfastd"), "--config", config], log)
    with contextlib.ExitStack() as stack:
        stack.callback(server.kill)
        client = [os.path.join(build, "bin", "holdfast"), "--address", server.address]
        done([*client, "replay", "--run", "c", "--verify", CONVERSATION])
        expect(server.stop() == 0, f"the server did not stop in order: {read(log)}")
    return [json.loads(line) for line in read(log).splitlines()]


def value(span, name):
    """An attribute without its type, or None."""
    return span["attributes"].get(name, (None, None))[1]


def calls_are_decoded(calls, spans):
    """Each call that the log has is one span of the same ids; what differs."""
    servers = {span["ID"]: span for span in spans if span["Kind"] == "Server"}
    if len(servers) != len(calls):
        yield f"{len(servers)} calls are decoded, and the log has {len(calls)}"
    for call in calls:
        span = servers.get(call["span_id"])
        if span is None:
            yield f"{call['method']} {call['span_id']} is not decoded"
            continue
        wanted = {
            "Trace ID": call["trace_id"],
            "Parent ID": "",
            "Name": f"{SERVICE}/{call['method']}",
            "Status code": "Unset",
            "scope": "holdfast",
            "session.id": ("Str", call["session"]),
            "gen_ai.conversation.id": ("Str", call["session"]),
            "rpc.service": ("Str", SERVICE),
            "rpc.method": ("Str", call["method"]),
            "rpc.grpc.status_code": ("Int", "0"),
            "service.name": ("Str", "holdfast"),
        }
        found = span | span["attributes"] | span["resource"]
        for name, wants in wanted.items():
            if found.get(name) != wants:
                yield f"{call['method']}: {name} is {found.get(name)}, not {wants}"
        if not span["Start time"] < span["End time"]:
            yield f"{call['method']}: begins at {span['Start time']}, ends at {span['End time']}"


def effects_are_decoded(calls, spans):
    """Below each call are the spans of its change and of its transition; what differs."""
    below = collections.defaultdict(list)
    for span in spans:
        below[span["Parent ID"]].append(span)
    for call in calls:
        method, children = call["method"], below[call["span_id"]]
        for span in children:
            if (span["Trace ID"], value(span, "session.id")) != (call["trace_id"], call["session"]):
                yield f"{method}: {span} is of another trace or session"
        commits = [span for span in children if span["Name"] == "store.Commit"]
        outcomes = [
            (value(span, "holdfast.store.kind"), value(span, "holdfast.commit.outcome"))
            for span in commits
        ]
        if method in COMMITS and outcomes != [("fs", "applied")]:
            yield f"{method}: has the commits {outcomes}"
        transitions = [
            tuple(value(span, f"holdfast.transition.{part}") for part in ("trigger", "from", "to"))
            for span in children
            if span["Name"] == "session.transition"
        ]
        legal = TRANSITIONS.get(method, set())
        if len(transitions) != bool(legal) or not legal.issuperset(transitions):
            yield f"{method}: has the transitions {transitions}, not one of {legal}"


# What the spans of a server with a mistake would be, and both checks must see.
def without_a_call(spans):
    spans.remove(next(span for span in spans if span["Kind"] == "Server"))


def of_another_parent(spans):
    next(span for span in spans if span["Name"] == "store.Commit")["Parent ID"] = "0" * 16


def of_another_session(spans):
    span = next(span for span in spans if span["Name"] == "session.transition")
    span["attributes"]["session.id"] = ("Str", "another")


def with_text_for_a_number(spans):
    span = next(span for span in spans if span["Kind"] == "Server")
    span["attributes"]["rpc.grpc.status_code"] = ("Str", "0")


def in_another_trace(spans):
    next(span for span in spans if span["Kind"] == "Server")["Trace ID"] = "0" * 32


def with_a_wrong_transition(spans):
    span = next(span for span in spans if span["Name"] == "session.transition")
    span["attributes"]["holdfast.transition.to"] = ("Str", "CLOSED")


MUTANTS = [
    without_a_call,
    of_another_parent,
    of_another_session,
    with_text_for_a_number,
    in_another_trace,
    with_a_wrong_transition,
]


def problems(calls, spans):
    return [*calls_are_decoded(calls, spans), *effects_are_decoded(calls, spans)]


def check(build):
    program = golang.program(os.path.join(HERE, "collector"), "opentelemetry-collector")
    with Folder() as folder, Collector(program, folder) as collector:
        lines = served(build, folder, collector.endpoint)
        spans = collector.stop()
    calls = [line for line in lines if line["message"] == "call"]
    expect(len(calls) >= CALLS_LEAST, f"the conversation has only {len(calls)} calls")
    (counts,) = [line for line in lines if line["message"] == "spans"]
    expect(
        counts["exported"] == len(spans),
        f"{len(spans)} spans are decoded, and the server counts {counts}",
    )
    found = problems(calls, spans)
    expect(not found, "\n".join(found))
    for mutate in MUTANTS:
        mutant = copy.deepcopy(spans)
        mutate(mutant)
        expect(problems(calls, mutant), f"a span {mutate.__name__} is not seen")
    version = golang.version_of(os.path.join(HERE, "collector"), COLLECTOR)
    names = collections.Counter(span["Name"].rpartition("/")[2] for span in spans)
    print(f"figure: {len(MUTANTS)} mutants caught")
    print(f"report: the collector {version} decoded {len(spans)} spans of {len(calls)} calls")
    for name, count in sorted(names.items()):
        print(f"report: {count} {name}")


def main():
    build = os.path.abspath(sys.argv[1])
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "collector"], check=True)
    return outcome("collector", lambda: check(build))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
