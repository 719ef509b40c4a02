#!/usr/bin/env python3
"""Asks a real Prometheus every query of the dashboards, while real servers do what the panels show:
replays, refusals, take-overs, a cancellation, a restart, a failover.

    tests/grafana/long.py BUILD_DIRECTORY

Every query must answer, and every panel must show something that moved, but for STILL. What the
queries of traces name must be in spans that the servers sent.
"""
import json
import math
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from boards import EVERYTHING, queries_of, read_boards  # noqa: E402
from programs import ROOT, Failed, Folder, expect, outcome, wait_for  # noqa: E402
from scene import JOBS, STEP_SECONDS, Scene  # noqa: E402

WINDOW = "20s"
ENDLESS = 100000  # repeats of a replay that is ended with the run
# Panels whose values stay zero in the run -> the reason. They must answer all the same.
STILL = {
    "Exceptions": "each would be a defect",
    "Pauses of the acceptor": "the machine would have to run out of descriptors",
    "Connections that were closed": "needs thousands of connections of a peer",
    "Staged uploads": "an upload that is open while Prometheus scrapes is not made by holdfast",
    "Open streams": "the same",
    "Oldest call in the queue": "a queue that is looked at once a second is often empty",
    "Queue": "the same",
    "Lag of watchers": "deliveries keep up with the replays",
}
# Panel -> what its series must have been, as label -> value, at more than zero.
MOVED = {
    "Transitions by trigger": [
        {"from": "NONE", "to": "IDLE", "trigger": "Create"},
        {"to": "ACTIVE", "trigger": "BeginTurn"},
        {"from": "ACTIVE", "to": "PERSISTED", "trigger": "CommitTurn"},
        {"to": "RESUMED", "trigger": "Resume"},
        {"to": "CLOSED", "trigger": "Close"},
        {"to": "DELETED", "trigger": "Delete"},
    ],
    "Sessions by lifecycle": [{"lifecycle": "PERSISTED"}, {"lifecycle": "ACTIVE"}],
    "Transitions": [{"source": "ACTIVE", "target": "PERSISTED"}],
    "Calls by method": [
        {"method": "CreateSession"},
        {"method": "CommitTurn"},
        {"method": "ResumeSession"},
    ],
    "Calls by status": [
        {"code": "OK"},
        {"code": "NOT_FOUND"},
        {"code": "UNAVAILABLE"},
    ],
    "Refusals by reason": [
        {"reason": "SESSION_NOT_FOUND"},
        {"reason": "LEASE_HELD"},
        {"reason": "STORE_UNAVAILABLE"},
    ],
    "Refused for a session's state": [{"reason": "LEASE_HELD"}],
    "Errors of the store": [{"reason": "STORE_UNAVAILABLE"}],
    "Changes by result": [{"result": "applied"}],
    "Leases": [{"previous_holder": "none"}, {"previous_holder": "other"}],
    "Sessions of holders that were gone": [{"sweep": "cancelled"}],
    "Sweeps": [
        {"sweep": "abandoned", "outcome": "ok"},
        {"sweep": "cancelled", "outcome": "ok"},
        {"outcome": "failed"},
    ],
    "Spans": [{"outcome": "exported"}],
    "Log lines left out": [{"cause": "rate"}],
    "Calls in flight": [{"method": "WatchSession"}],
    "Connections of the pool": [{"state": "in_use"}, {"state": "idle"}],
}


def act(scene):
    """Causes what the panels show."""
    for name in JOBS:
        replay = scene.replay(name, f"{name}-first", 20)
        expect(replay.wait(120) == 0, f"the first replay over {name} failed")
        scene.background(name, "session", "tail", f"greenhouse-{name}-first")
        scene.replay(name, f"{name}-later", ENDLESS, "--pace", "200ms")
    for name in ("files", "one"):
        take_over(scene, name)
    leave_turns(scene)
    be_refused(scene)
    wait_for(
        "a minute of scrapes",
        lambda: scene.ask("query", query="min(time() - process_start_time_seconds) > 65"),
    )
    expect(scene.servers["files"].stop() == 0, "the server did not stop in order")
    scene.serve("files")
    fail_over(scene)


def be_refused(scene):
    """Many calls at once name a session that is not there, until Prometheus has seen it twice."""

    def once():
        refused = [scene.background("files", "session", "show", "nothing") for _ in range(40)]
        expect({process.wait(60) for process in refused} == {1}, "an unknown session is shown")

    seen = 'rate(holdfast_rpc_handled_total{job="notes",code="NOT_FOUND"}[5s]) > 0'
    wait_for("refusals", lambda: once() or scene.ask("query", query=seen))


def take_over(scene, name):
    """Sessions are resumed, refused to another holder, taken over, closed and deleted, until
    Prometheus has seen it twice: what a series has when it appears is no increase."""

    def once(number):
        session = f"night-shift.7-{name}-first-r{number}"
        resume = ["session", "resume", session, "--holder"]
        expect(scene.client(name, *resume, "a").returncode == 0, f"{session} is not resumed")
        expect(scene.client(name, *resume, "b").returncode == 1, f"{session} is not held")
        force = ["--force", "a test takes it over"]
        forced = scene.client(name, "--output", "json", *resume, "b", *force)
        expect(forced.returncode == 0, forced.stdout)
        token = ["--token", json.loads(forced.stdout)["lease_token"]]
        for words in (["close", session, *token], ["delete", session]):
            found = scene.client(name, "session", *words)
            expect(found.returncode == 0, found.stdout)

    series = f'holdfast_session_transitions_total{{job="{JOBS[name]}",to="DELETED"}}'
    seen = f"rate({series}[5s]) > 0"
    numbers = iter(range(2, 21))
    wait_for("deletes", lambda: once(next(numbers)) or scene.ask("query", query=seen))


def leave_turns(scene):
    """Turns whose holder is gone are cancelled; a sweep ends them."""

    def active():
        found = scene.client("two", "--output", "json", "session", "list", "--state", "active")
        return [row["session_id"] for row in json.loads(found.stdout)["sessions"]]

    left = scene.replay("two", "two-left", ENDLESS)
    wait_for("a turn", lambda: any("two-left" in session for session in active()))
    left.kill()
    left.wait(60)
    for session in active():
        if "two-left" in session:
            scene.client("two", "session", "cancel", session)
    swept = 'sum(holdfast_swept_sessions_total{job="team",sweep="cancelled"}) > 0'
    wait_for("a cancelled turn", lambda: scene.ask("query", query=swept))


def fail_over(scene):
    """The primary is away until Prometheus has seen calls fail; then the standby is promoted."""
    scene.primary.stop(signal.SIGQUIT)
    for query in (
        'rate(holdfast_rpc_handled_total{job="team",code="UNAVAILABLE"}[5s]) > 0',
        'rate(holdfast_store_errors_total{job="team",reason="STORE_UNAVAILABLE"}[5s]) > 0',
        'rate(holdfast_sweeps_total{job="team",outcome="failed"}[5s]) > 0',
    ):
        wait_for(query, lambda query=query: scene.ask("query", query=query))
    scene.standby.sql("postgres", "SELECT pg_promote(true, 60)")
    seen = "count(holdfast_postgres_timeline offset 10s > 1) == 2"
    wait_for("the new timeline", lambda: scene.ask("query", query=seen))
    committed = 'sum(rate(holdfast_store_commits_total{job="team",result="applied"}[3s])) > 0'
    wait_for("commits behind the failover", lambda: scene.ask("query", query=committed))
    expect(scene.servers["one"].process.poll() is None, "a server ended in the failover")


def samples(series):
    """The finite values of a series."""
    values = series.get("values") or [series["value"]]
    numbers = [float(value) for _, value in values]
    return [number for number in numbers if math.isfinite(number)]


class Answers:
    """What Prometheus says to queries, over the whole run."""

    def __init__(self, scene, begun):
        self.scene, self.begun = scene, begun

    def __call__(self, query):
        ended = time.time()
        values = EVERYTHING | {
            "$__rate_interval": WINDOW,
            "$__range": f"{math.ceil(ended - self.begun)}s",
        }
        text = query.filled(values)
        if query.instant:
            return self.scene.ask("query", query=text)
        times = {"start": self.begun, "end": ended, "step": STEP_SECONDS}
        return self.scene.ask("query_range", query=text, **times)


def check_answer(query, series):
    """What is wrong with the answer to a query."""
    shown = [found for found in series if samples(found)]
    if not shown:
        yield f"{query}: answers nothing"
    for label in re.findall(r"\{\{(\w+)\}\}", query.legend):
        if any(label not in found["metric"] for found in shown):
            yield f"{query}: a series has no label {label}"


def moved(series, labels):
    return any(
        labels.items() <= found["metric"].items() and max(samples(found), default=0) > 0
        for found in series
    )


def check_panel(title, series):
    """What is wrong with all that a panel shows."""
    if title not in STILL and not moved(series, {}):
        yield f"{title}: nothing moved"
    if title in STILL and title in MOVED:
        yield f"{title}: must move, and has a reason not to"
    for labels in MOVED.get(title, []):
        if not moved(series, labels):
            yield f"{title}: {labels} did not move"


def words_of(queries):
    """The names of spans and attributes that queries of traces have."""
    found = set()
    for query in queries:
        found |= set(re.findall(r'\bname = "([^"]+)"', query.text))
        found |= set(re.findall(r"\bspan\.([\w.]+)", query.text))
    return sorted(found)


def check(build):
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "metrics", "test"], check=True)
    asked = queries_of(read_boards())
    queries = [found for found in asked if found.language == "promql"]
    words = words_of(found for found in asked if found.language == "traceql")
    expect(words, "no query of traces names anything")
    with Folder() as folder, Scene(build, folder, words) as scene:
        scene.start()
        begun = time.time()
        act(scene)
        answer, problems, panels = Answers(scene, begun), [], {}
        for query in queries:
            series = answer(query)
            problems += check_answer(query, series)
            panels.setdefault(query.panel, []).extend(series)
        for title, series in panels.items():
            problems += check_panel(title, series)
        for title in sorted((set(STILL) | set(MOVED)) - set(panels)):
            problems.append(f"{title}: is no panel")
        still = [title for title in STILL if moved(panels.get(title, []), {})]
        for word in set(words) - set(scene.collected()):
            problems.append(f"{word}: is in no span")
        print(f"grafana: moved though they need not: {sorted(still)}")
        expect(not problems, "\n".join(problems))
    print(f"grafana: {len(queries)} queries answered, {len(panels) - len(STILL)} panels moved")
    print(f"grafana: spans had {', '.join(words)}")


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(outcome("grafana.LongQueries", lambda: check(os.path.abspath(sys.argv[1]))))
