#!/usr/bin/env python3
"""Holds the chart against the API server of Kubernetes, with etcd, and without nodes.

    tests/cluster/long.py BUILD_DIRECTORY [CHECK...]

The API server is built of the modules of Kubernetes the first time, which takes many minutes, and
kept in the user's cache (tests/support/golang.py). All serve on loopback and keep what they write
in a temporary directory. What needs a node or a controller cannot be seen here: pods do not run,
nothing rolls out, no volume is made, and a load balancer gets no address.

What begins with `report: ` is said in docs/reports/cluster.md.
"""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "chart"):
    sys.path.append(os.path.join(HERE, "..", folder))

import golang  # noqa: E402
import hooks  # noqa: E402
import pods  # noqa: E402
import release_mutants  # noqa: E402
import releases  # noqa: E402
import renderings  # noqa: E402
import upgrades  # noqa: E402
from kubernetes import Cluster  # noqa: E402
from programs import ROOT, Failed, Folder  # noqa: E402
from tools import HELMS, Tools  # noqa: E402

# Before the definitions of the operators' kinds are there, and after.
BEFORE = {
    "ReleasesLive": releases.releases_live,
    "ReleasesAreCompared": release_mutants.releases_are_compared,
    "MissingKindsAreSaid": upgrades.missing_kinds_are_said,
    "FixedFieldsAreRefused": upgrades.fixed_fields_are_refused,
    "NamesMakeAnotherStore": upgrades.names_make_another_store,
    "HooksComeFirst": hooks.hooks_come_first,
    "SecretsReplacePods": upgrades.secrets_replace_pods,
}
AFTER = {
    "EveryCaseIsTaken": renderings.every_case_is_taken,
    "MisspeltFieldsAreRefused": renderings.misspelt_fields_are_refused,
    "WrongValuesAreSeen": renderings.wrong_values_are_seen,
    "EveryPodIsAdmitted": pods.every_pod_is_admitted,
    "MutantsAreRefused": pods.mutants_are_refused,
    "EveryCaseIsAnUpgrade": upgrades.every_case_is_an_upgrade,
}


def apiserver():
    """The program, which says the version of its modules: helm asks for it."""
    source = os.path.join(HERE, "apiserver")
    version = golang.version_of(source, "k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".")
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    package = "k8s.io/component-base/version"
    variables = [f"{package}.{name}={value}" for name, value in facts.items()]
    return golang.program(source, "kube-apiserver", variables), version


def passes(name, check):
    """Whether the check finds nothing; says what it finds."""
    begun = time.monotonic()
    found = False
    try:
        for problem in check():
            found = True
            print(f"{name}: {problem}")
    except Failed as failed:
        found = True
        print(f"{name}: {failed}")
    ended = "failed" if found else "passed"
    print(f"report: {name} {ended} in {time.monotonic() - begun:.0f} s")
    return not found


def main():
    build, *names = sys.argv[1:]
    for name in names:
        if name not in BEFORE | AFTER:
            raise SystemExit(f"cluster: there is no check {name}, only {', '.join(BEFORE | AFTER)}")
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "cluster"], check=True)
    program, version = apiserver()
    found = Tools(build)
    passed = []

    def run(checks, *arguments):
        for name, check in checks.items():
            if not names or name in names:
                passed.append(passes(name, lambda check=check: check(*arguments)))

    with Folder() as folder, Cluster(program, found.kubectl(), folder) as cluster:
        if cluster.version() != version:
            raise SystemExit(f"cluster: the API server is {cluster.version()}, not {version}")
        helms = " and ".join(helm for _, helm in HELMS.values())
        print(f"report: Kubernetes {version}, helm {helms}")
        run(BEFORE, cluster, found)
        cluster.add_definitions(golang.module)
        checker = renderings.Checker(cluster, found)
        run(AFTER, checker)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
