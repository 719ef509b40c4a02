#!/usr/bin/env python3
"""A real Prometheus scrapes a real server, and answers what the server did.

    tests/metrics/long.py BUILD_DIRECTORY

Installs Debian's prometheus. `promtool check metrics` must find nothing in a scrape, and every
query of docs/operations.md must be one that Prometheus takes.
"""
import contextlib
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from programs import CONVERSATION, ROOT, Serving, wait_for  # noqa: E402
from prometheus import Prometheus, fetch  # noqa: E402

# What the replay must have caused: a query, and the smallest value that is right.
EXPECTED = {
    'up{job="holdfast"}': 1,
    'holdfast_rpc_handled_total{job="holdfast",method="CommitTurn",code="OK"}': 1,
    'holdfast_rpc_handled_total{method="CreateSession",code="OK"}': 1,
    'holdfast_session_transitions_total{from="NONE",to="IDLE",trigger="Create"}': 1,
    'holdfast_session_transitions_total{from="IDLE",to="ACTIVE",trigger="BeginTurn"}': 1,
    'holdfast_session_transitions_total{from="ACTIVE",to="PERSISTED",trigger="CommitTurn"}': 1,
    'holdfast_store_commits_total{result="applied"}': 3,
    'holdfast_rpc_refused_total{reason="SESSION_NOT_FOUND"}': 1,
    'histogram_quantile(0.99, sum by (le) (holdfast_store_call_duration_seconds_bucket))': 0,
    "holdfast_store_group_changes_count": 3,
    "holdfast_files_available_bytes": 1,
    "holdfast_build_info": 1,
    "process_resident_memory_bytes": 1,
}


def documented_queries():
    """The queries in the tables of the section on metrics."""
    with open(os.path.join(ROOT, "docs", "operations.md"), encoding="utf-8") as file:
        section = file.read().split("\n## Metrics\n")[1].split("\n## ")[0]
    rows = [line.split(" | ", 1)[1] for line in section.splitlines() if line.startswith("| ")]
    queries = [query for row in rows for query in re.findall(r"`([^`]+)`", row)]
    return [query.replace("\\|", "|") for query in queries]


def check(folder, build, stack):
    server_config = os.path.join(folder, "holdfastd.yaml")
    with open(server_config, "w", encoding="utf-8") as file:
        file.write(
            'server: {address: "127.0.0.1:0"}\n'
            f"stores: [{{name: local, active: true, root: {folder}/root}}]\n"
            'telemetry: {metrics_address: "127.0.0.1:0"}\n'
        )
    holdfastd = os.path.join(build, "bin", "holdfastd")
    server = Serving([holdfastd, "--config", server_config], os.path.join(folder, "log"))
    stack.callback(server.kill)
    address, metrics = server.address, server.facts["metrics"]
    client = [os.path.join(build, "bin", "holdfast"), "--address", address]
    subprocess.run([*client, "replay", "--run", "m", "--verify", CONVERSATION], check=True)
    gone = subprocess.run([*client, "session", "show", "absent"], check=False, capture_output=True)
    if gone.returncode == 0:
        raise SystemExit("metrics: a session that was never created is shown")

    page = fetch(f"http://{metrics}/metrics")
    lint = subprocess.run(
        ["promtool", "check", "metrics"], input=page, text=True, capture_output=True, check=False
    )
    findings = [line for line in lint.stderr.splitlines() if not line.startswith("exposer_")]
    if findings:
        raise SystemExit("metrics: promtool check metrics:\n" + "\n".join(findings))

    prometheus = Prometheus(folder)
    stack.callback(prometheus.stop)
    jobs = [{"job_name": "holdfast", "static_configs": [{"targets": [metrics]}]}]
    times = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    prometheus.start({"global": times, "scrape_configs": jobs})
    query = prometheus.query
    wait_for("the first scrape", lambda: query('up{job="holdfast"} == 1'))
    for text, least in EXPECTED.items():
        value = float(wait_for(text, lambda text=text: query(text))[0]["value"][1])
        if not value >= least:
            raise SystemExit(f"metrics: {text} is {value}, not at least {least}")
    queries = documented_queries()
    if not queries:
        raise SystemExit("metrics: docs/operations.md has no query")
    for text in queries:
        query(text)
    print(f"metrics: {len(EXPECTED)} answers, {len(queries)} documented queries")


def main():
    build = sys.argv[1]
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "metrics"], check=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        check(folder, build, stack)


if __name__ == "__main__":
    main()
