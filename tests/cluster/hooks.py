"""The migration as a hook: helm waits for its job, whose controller is played here by the check,
which sets the status that one would set."""
import concurrent.futures
import json
import tempfile

import tools
from programs import expect, wait_for
from release_mutants import mutant_of_the_chart
from releases import RELEASE, STORES, Releases

JOB = "demo-holdfast-migrate"
HOOK = ["--set", "migration.mode=hook", "--timeout", "5m"]
TIME = "2026-01-01T00:00:00Z"
STARTED = {"startTime": TIME, "uncountedTerminatedPods": {}}
# What the controller of jobs says of one that is through, and of one that has failed.
THROUGH = STARTED | {
    "succeeded": 1,
    "completionTime": TIME,
    "conditions": [
        {"type": "SuccessCriteriaMet", "status": "True"},
        {"type": "Complete", "status": "True"},
    ],
}
FAILED = STARTED | {
    "failed": 1,
    "conditions": [
        {"type": "FailureTarget", "status": "True"},
        {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"},
    ],
}


def set_status(releases, status):
    for condition in status["conditions"]:
        condition |= {"lastTransitionTime": TIME, "lastProbeTime": TIME}
    words = ["patch", "job", JOB, "--namespace", releases.namespace, "--subresource", "status"]
    releases.cluster.must(*words, "--type", "merge", "--patch", json.dumps({"status": status}))


def during_the_hook(releases, words, status):
    """What helm ends with and says, and what there was of the release while it waited."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        helm = pool.submit(releases.helm, *words)
        is_there = lambda: f"job.batch/{JOB}" in releases.left()
        wait_for("the job of the hook", lambda: helm.done() or is_there())
        expect(not helm.done() or is_there(), f"helm does not wait: {helm}")
        seen = releases.left()
        set_status(releases, status)
        return *helm.result(), seen


def order_of_hooks(cluster, found, major, chart, name):
    """What is wrong with a release of the chart while its hook runs and after it; the release lives
    in namespaces that begin with `name`."""
    files = [word for file in STORES["postgres"] for word in ("--values", file)]
    install = [major, "install", RELEASE, chart, *files, *HOOK]
    releases = Releases(cluster, found, f"{name}-failed")
    code, said, _ = during_the_hook(releases, install, FAILED)
    if code == 0 or "pre-install" not in said:
        yield f"helm {major}: a migration that failed is not said: {said}"
    if servers_of(releases.left()):
        yield f"helm {major}: a server is made after a migration that failed"
    releases = Releases(cluster, found, f"{name}-through")
    for words in (install, [major, "upgrade", *install[2:]]):
        code, said, seen = during_the_hook(releases, words, THROUGH)
        if code != 0:
            yield f"helm {major} {words[1]}: {said}"
        if words[1] == "install" and servers_of(seen):
            yield f"helm {major}: a server is there before the migration is through"
        if f"job.batch/{JOB}" in releases.left():
            yield f"helm {major} {words[1]}: the job is left"
        for problem in releases.problems(releases.manifest()):
            yield f"helm {major} {words[1]}: {problem}"
    releases.must(major, "uninstall", RELEASE)


def servers_of(names):
    return {name for name in names if name.startswith("deployment")}


def hooks_come_first(cluster, found):
    """No server is made before the migration is through, and none after it has failed."""
    for major in tools.HELMS:
        yield from order_of_hooks(cluster, found, major, tools.CHART, f"hook-{major}")
    with tempfile.TemporaryDirectory(prefix="holdfast chart ") as folder:
        late = ("pre-install,pre-upgrade", "post-install,post-upgrade")
        mutant = mutant_of_the_chart(folder, "migrate.yaml", late)
        expect(mutant, "the migration has another hook than pre-install,pre-upgrade")
        if len(list(order_of_hooks(cluster, found, 4, mutant, "hook-mutant"))) < 3:
            yield "a hook that comes too late is not seen"
    print("figure: 1 mutants caught")
    print("report: no server before the hook of the migration is through, none after it failed")
