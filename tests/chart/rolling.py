#!/usr/bin/env python3
"""Replaces three servers of the chart over PostgreSQL one after the other, again and again, while
agents take turns under the documented retry policy.

    tests/chart/rolling.py BUILD_DIRECTORY [REPLACEMENTS]

Each replacement is the chart's: a new server starts and is ready, then an old one has its preStop
hook, SIGTERM and its grace period. Every tenth old one is killed at once instead. No call may fail,
no epoch may move, and every turn is there exactly once.
"""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

import agents  # noqa: E402
import api  # noqa: E402
import fleet  # noqa: E402
import tools  # noqa: E402

from programs import outcome  # noqa: E402

REPLACEMENTS, EVERY_SECONDS, KILL_EVERY = 60, 5, 10
SERVERS, AGENTS = 3, 6


def roll(servers, replacements):
    with agents.Agents(servers.addresses(), AGENTS) as clients:
        for number in range(1, replacements + 1):
            due = time.monotonic() + EVERY_SECONDS
            if number % KILL_EVERY == 0:
                servers.replace_killed()
            else:
                servers.replace()
            clients.expect_no_failure(f"replacement {number}")
            clients.stopping.wait(max(0, due - time.monotonic()))
        clients.finish()
    print(
        f"rolling: {replacements} replacements, {replacements // KILL_EVERY} of them by SIGKILL:"
        f" {clients.turns()} turns of {AGENTS} agents, no call failed, no epoch moved;"
        f" {servers.longest_end()}"
    )


def check(build, replacements):
    with fleet.fleet_over_postgres(tools.Tools(build)) as servers:
        servers.start_all(SERVERS)
        roll(servers, replacements)


def main():
    build = os.path.abspath(sys.argv[1])
    replacements = int(sys.argv[2]) if len(sys.argv) > 2 else REPLACEMENTS
    api.use_stubs(build)
    return outcome("rolling", lambda: check(build, replacements))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends too
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
