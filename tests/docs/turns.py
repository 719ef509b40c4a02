#!/usr/bin/env python3
"""Follows turns that begin at one server and end at another, over one database, through the spans
that a receiver of OpenTelemetry's own gets; the client's spans are made by OpenTelemetry's library.

    tests/docs/turns.py BUILD_DIRECTORY
"""
import contextlib
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was

import examples  # noqa: E402
import api  # noqa: E402
import span_receiver  # noqa: E402

from programs import Folder, Postgres, Server, done, expect, outcome, wait_for  # noqa: E402

LIBRARY = "opentelemetry"
TURN, TRANSITION = "session.turn", "session.transition"


def install_library(build):
    """OpenTelemetry's library for Python; the folder that has it."""
    folder = os.path.join(build, "otlp", LIBRARY)
    wanted = os.path.join(span_receiver.SOURCE, "requirements.txt")
    if not os.path.exists(os.path.join(folder, LIBRARY)):
        quiet = ["--quiet", "--no-deps", "--require-hashes", "--root-user-action", "ignore"]
        command = [sys.executable, "-m", "pip", "install", *quiet, "--target", folder]
        examples.run_again([*command, "--requirement", wanted])
    return folder


class Agent:
    """A client whose calls are children of its current span."""

    def __init__(self, provider):
        self.tracer = provider.get_tracer("agent")
        self.session, self.token = "one", ""

    def call(self, method, address, request):
        """The answer of a call within a span of its own, and the context of that span."""
        import grpc
        from holdfast.v1.session_service_pb2_grpc import SessionServiceStub
        from opentelemetry.propagate import inject

        with self.tracer.start_as_current_span(method) as span:
            headers = {}
            inject(headers)
            with grpc.insecure_channel(address) as channel:
                stub = SessionServiceStub(channel)
                answer = getattr(stub, method)(request, metadata=list(headers.items()))
            return answer, span.get_span_context()

    def create(self, address):
        answer, context = self.call("CreateSession", address, api.create(self.session))
        self.token = answer.lease_token
        return context

    def begin(self, address):
        answer, context = self.call("BeginTurn", address, api.begin(self.session, self.token))
        return answer.turn, context

    def commit(self, address, turn):
        request = api.commit(self.session, self.token, turn, b'"said"')
        return self.call("CommitTurn", address, request)[1]

    def take_over(self, address):
        return self.call("ResumeSession", address, api.take_over(self.session))[1]


def ids(context):
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def is_call(span, method, context):
    name = f"holdfast.v1.SessionService/{method}"
    return span["name"] == name and (span["traceId"], span["parentSpanId"]) == ids(context)


def only(spans, problem):
    expect(len(spans) == 1, f"{len(spans)} spans are {problem}")
    return spans[0]


def instance(span):
    return span["resource"]["service.instance.id"]


def links(span):
    return {
        link["attributes"]["holdfast.link"]: (link["traceId"], link["spanId"])
        for link in span["links"]
    }


def place(span):
    return span["traceId"], span["spanId"]


def take_turns(agent, first, second, received):
    """A turn from the first server to the second, and one whose server is killed. The contexts of
    the client's spans, by what it did."""
    done_by = {"create": agent.create(first.address)}
    turn, done_by["begin"] = agent.begin(first.address)
    done_by["commit"] = agent.commit(second.address, turn)
    turn, done_by["begin again"] = agent.begin(first.address)
    begun = lambda: any(is_call(s, "BeginTurn", done_by["begin again"]) for s in received())
    wait_for("the span of the call that began the turn", begun)
    first.kill()
    done_by["take over"] = agent.take_over(second.address)
    return done_by


def check_turns(spans, done_by):
    turns = [span for span in spans if span["name"] == TURN]
    expect(len(turns) == 2, f"{len(turns)} turns were received, and not 2")
    ended, crashed = turns
    began = only([s for s in spans if is_call(s, "BeginTurn", done_by["begin"])], "the begin")
    commits = [s for s in spans if is_call(s, "CommitTurn", done_by["commit"])]
    committed = only(commits, "the commit")
    # One trace, below the client's span, exported by the server that did not begin it.
    expect((ended["traceId"], ended["parentSpanId"]) == ids(done_by["begin"]), f"{ended}")
    expect(instance(ended) == instance(committed) != instance(began), f"{ended}")
    expect(ended["attributes"]["holdfast.turn.outcome"] == "ok", f"{ended}")
    expect(ended["status"] == "STATUS_CODE_UNSET" and ended["links"] == [], f"{ended}")
    # A turn whose server was killed is one span too.
    began_again = (crashed["traceId"], crashed["parentSpanId"])
    expect(began_again == ids(done_by["begin again"]), f"{crashed}")
    expect(instance(crashed) == instance(ended), f"{crashed}")
    expect(crashed["attributes"]["holdfast.turn.outcome"] == "recovered", f"{crashed}")
    expect(crashed["status"] == "STATUS_CODE_ERROR", f"{crashed}")
    expect(links(crashed) == {"previous_turn": place(ended)}, f"{crashed}")
    return ended, crashed, committed


def check_transitions(spans, done_by, ended, crashed, committed):
    below = lambda call: [s for s in spans if s["parentSpanId"] == call["spanId"]]
    taken = [s for s in spans if is_call(s, "ResumeSession", done_by["take over"])]
    resumed = only(taken, "the resume")
    commit = only([s for s in below(committed) if s["name"] == TRANSITION], "the commit's")
    resume = only([s for s in below(resumed) if s["name"] == TRANSITION], "the resume's")
    expect(links(commit) == {"ended_turn": place(ended)}, f"{commit}")
    wanted = {"ended_turn": place(crashed), "last_snapshot": place(commit)}
    expect(links(resume) == wanted, f"{resume} has not {wanted}")
    store = only([s for s in below(committed) if s["name"] == "store.Commit"], "the store's")
    statement = only(below(store), "below the store's")
    facts = statement["attributes"]
    expect(statement["kind"] == "SPAN_KIND_CLIENT", f"{statement}")
    expect(facts["db.system.name"] == "postgresql", f"{statement}")
    expect(facts["db.query.summary"] == statement["name"], f"{statement}")


def check(build):
    from opentelemetry.sdk.trace import TracerProvider

    agent = Agent(TracerProvider())
    with contextlib.ExitStack() as stack:
        receiver = stack.enter_context(span_receiver.SpanReceiver(build))
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.endpoint
        folder = stack.enter_context(Folder())
        cluster = os.path.join(folder, "cluster")
        postgres = stack.enter_context(Postgres(cluster)).start()
        postgres.sql("postgres", "CREATE DATABASE holdfast")
        dsn = postgres.dsn("holdfast")
        holdfastd = os.path.join(build, "bin", "holdfastd")
        done([holdfastd, "migrate"], env=os.environ | {"HOLDFAST_POSTGRES_DSN": dsn})
        first, second = [
            stack.enter_context(Server(build, folder, name, dsn=dsn)).start()
            for name in ("first", "second")
        ]
        done_by = take_turns(agent, first, second, receiver.spans)
        shown = second.answer("session", "show", agent.session)
        expect(second.stop() == 0, "the second server did not stop in order")
    spans = receiver.spans()
    ended, crashed, committed = check_turns(spans, done_by)
    check_transitions(spans, done_by, ended, crashed, committed)
    expect(shown["last_turn_trace_id"] == crashed["traceId"], f"{shown}")
    expect(shown["snapshot_trace_id"] == committed["traceId"], f"{shown}")
    print(f"turns: {len(spans)} spans of two servers")


def main():
    build = os.path.abspath(sys.argv[1])
    api.use_stubs(build)
    sys.path.insert(1, install_library(build))
    return outcome("turns", lambda: check(build))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
