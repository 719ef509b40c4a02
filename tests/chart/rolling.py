#!/usr/bin/env python3
"""Replaces three servers of the chart over PostgreSQL one after the other, again and again, while
agents take turns under the documented retry policy.

    tests/chart/rolling.py BUILD_DIRECTORY [REPLACEMENTS]

Each replacement is the chart's: a new server starts and is ready, then an old one has its preStop
hook, SIGTERM and its grace period. Every tenth old one is killed at once instead. No call may fail,
no epoch may move, and every turn is there exactly once.
"""
import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

import api  # noqa: E402
import serving  # noqa: E402
import tools  # noqa: E402

from programs import Folder, Postgres, expect, outcome, wait_for  # noqa: E402

REPLACEMENTS, EVERY_SECONDS, KILL_EVERY = 60, 5, 10
SERVERS, AGENTS = 3, 6
SECONDS = 120
VALUES = [
    "probes.kind=exec",
    "store.kind=postgres",
    "cloudnativepg.enabled=true",
    "store.postgres.user=app",
    "store.postgres.password.existingSecret=serving",
]


class Place:
    """An address for one server after the other. It is bound and never listens, so that no other
    program takes the port meanwhile."""

    def __init__(self):
        self.held = socket.socket()
        self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.held.getsockname()[1]}"
        self.pod = None


class Agent(threading.Thread):
    """Takes turns in a session of its own until `stopping` is set."""

    def __init__(self, number, channel, stopping):
        super().__init__(daemon=True)
        from holdfast.v1.session_service_pb2_grpc import SessionServiceStub

        self.stub, self.stopping = SessionServiceStub(channel), stopping
        self.session, self.turns, self.failure = f"agent-{number}", 0, None

    def run(self):
        import grpc

        try:
            self.take_turns()
        except grpc.RpcError as error:
            self.failure = f"{self.session}, turn {self.turns + 1}: {error}"

    def take_turns(self):
        token = self.stub.CreateSession(api.create(self.session)).lease_token
        while not self.stopping.is_set():
            turn = self.stub.BeginTurn(api.begin(self.session, token)).turn
            data = str(self.turns).encode()
            self.stub.CommitTurn(api.commit(self.session, token, turn, data))
            self.turns += 1

    def check(self):
        """The session holds each of its turns once, under the epoch that it was created with."""
        found = self.stub.GetSession(api.get(self.session)).session
        expect(found.lease.epoch == 1, f"{self.session} has epoch {found.lease.epoch}")
        expect(
            found.message_count == found.last_turn == self.turns,
            f"{self.session} took {self.turns} turns and holds {found.message_count} messages",
        )


class Fleet:
    """Servers at one place more than there are servers."""

    def __init__(self, found, objects, database, stack):
        self.found, self.objects, self.database, self.stack = found, objects, database, stack
        self.places = [Place() for _ in range(SERVERS + 1)]
        self.longest = 0.0

    def addresses(self):
        return [place.address for place in self.places]

    def make_pod(self, place):
        folder = tempfile.TemporaryDirectory(prefix="holdfast rolling ")
        replaced = {
            "0.0.0.0:7420": place.address,
            "host='demo-holdfast-db-rw'": f"host='{self.database.folder}'",
            "sslmode='verify-full'": "sslmode='disable'",
        }
        name = self.stack.enter_context(folder)
        return serving.Pod(self.found, self.objects, name, replaced)

    def start(self, place):
        place.pod = self.make_pod(place)
        self.stack.callback(place.pod.end)
        place.pod.start()
        wait_for("the new server's readiness", lambda: place.pod.probe("readiness")[0] == 0)

    def replace(self, number):
        """Starts a server at the free place and takes the oldest away."""
        free, *others = self.places
        self.start(free)
        oldest = others[0]
        self.places = [oldest, *others[1:], free]
        if number % KILL_EVERY == 0:
            oldest.pod.end()
            return
        began = time.monotonic()
        hook = oldest.pod.container("holdfastd")["lifecycle"]["preStop"]["sleep"]["seconds"]
        time.sleep(hook)  # the hook's own act
        code = oldest.pod.stop()
        expect(code == 0, f"a server ended with {code}")
        self.longest = max(self.longest, time.monotonic() - began)


def connect(addresses):
    import grpc

    with open(api.SERVICE_CONFIG, encoding="utf-8") as file:
        config = json.load(file)
    config["loadBalancingConfig"] = [{"round_robin": {}}]
    options = [("grpc.service_config", json.dumps(config)), ("grpc.enable_retries", 1)]
    return grpc.insecure_channel("ipv4:" + ",".join(addresses), options)


def roll(fleet, replacements):
    stopping = threading.Event()
    with connect(fleet.addresses()) as channel:
        agents = [Agent(number, channel, stopping) for number in range(AGENTS)]
        for agent in agents:
            agent.start()
        for number in range(1, replacements + 1):
            due = time.monotonic() + EVERY_SECONDS
            fleet.replace(number)
            for agent in agents:
                expect(agent.failure is None, f"replacement {number}: {agent.failure}")
            stopping.wait(max(0, due - time.monotonic()))
        stopping.set()
        for agent in agents:
            agent.join(SECONDS)
            expect(agent.failure is None, agent.failure)
            agent.check()
        turns = sum(agent.turns for agent in agents)
    grace = fleet.places[1].pod.spec["terminationGracePeriodSeconds"]
    print(
        f"rolling: {replacements} replacements, {replacements // KILL_EVERY} of them by SIGKILL:"
        f" {turns} turns of {AGENTS} agents, no call failed, no epoch moved; the longest end took"
        f" {fleet.longest:.1f} s of {grace} s"
    )


def check(build, replacements):
    found = tools.Tools(build)
    more = [word for value in VALUES for word in ("--set", value)]
    objects = tools.load_all(found.template(4, [], more=more))
    (cluster,) = [made for made in objects if made["kind"] == "Cluster"]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(Folder())
        database = stack.enter_context(Postgres(os.path.join(folder, "db"))).start()
        serving.set_up(database, cluster)
        fleet = Fleet(found, objects, database, stack)
        code, said = fleet.make_pod(fleet.places[0]).run_to_end("migrate")
        expect(code == 0, f"the migration ends with {code}: {said}")
        for place in fleet.places[1:]:
            fleet.start(place)
        roll(fleet, replacements)


def main():
    build = os.path.abspath(sys.argv[1])
    replacements = int(sys.argv[2]) if len(sys.argv) > 2 else REPLACEMENTS
    api.use_stubs(build)
    return outcome("rolling", lambda: check(build, replacements))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends too
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
