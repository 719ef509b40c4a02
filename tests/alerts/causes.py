#!/usr/bin/env python3
"""Makes the cause of each alert once, with real servers, PostgreSQL and Debian's Prometheus: the
alert fires, and the steps of docs/runbooks.md end it.

    tests/alerts/causes.py BUILD_DIRECTORY [CAUSE...]

The rules are those of deploy/prometheus with every window and every `for` divided by 60, and a
scrape comes each second; expressions and thresholds are as they are. Needs root, for a tmpfs.
"""
import concurrent.futures
import os
import sys
import time

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import api  # noqa: E402
import causes_files  # noqa: E402
import causes_postgres  # noqa: E402
import promtool  # noqa: E402
from programs import Failed, Folder  # noqa: E402
from stage import FACTOR, RuledPrometheus  # noqa: E402


def run_all(causes, build, prometheus, seen):
    """One cause after the other; what failed."""
    failed = []
    for cause in causes:
        began = time.monotonic()
        with Folder() as folder:
            try:
                cause(build, folder, prometheus, seen)
            except Failed as problem:
                failed.append(f"{cause.__name__}: {problem}")
        print(f"alerts: {cause.__name__} took {time.monotonic() - began:.0f} s")
    return failed


def main():
    build, named = os.path.abspath(sys.argv[1]), sys.argv[2:]
    sys.stdout.reconfigure(line_buffering=True)
    promtool.install()
    chosen = [
        [cause for cause in part.CAUSES if not named or cause.__name__ in named]
        for part in (causes_files, causes_postgres)
    ]
    seen = {}
    api.use_stubs(build)
    with Folder() as folder:
        pool = concurrent.futures.ThreadPoolExecutor(2)
        with RuledPrometheus(folder) as prometheus, pool:
            runs = [pool.submit(run_all, part, build, prometheus, seen) for part in chosen]
            failed = [problem for run in runs for problem in run.result()]
    missing = promtool.alerts().keys() - seen.keys()
    if not named:
        failed += [f"{alert}: has no cause" for alert in sorted(missing)]
    print("| alert | fires after | is over after |")
    for alert, (fires, over) in sorted(seen.items()):
        print(f"| {alert} | {fires} s | {over} s |")
    print(f"figure: {len(seen)} causes of alerts, times divided by {FACTOR}")
    for problem in failed:
        print(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
