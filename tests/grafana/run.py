#!/usr/bin/env python3
"""Checks the dashboards: run.py CHECK BUILD_DIRECTORY, run.py --list."""
import copy
import filecmp
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from boards import FOLDER, Parser, read_boards  # noqa: E402
from mutants import MUTANTS  # noqa: E402
from programs import ROOT, Failed, expect, main  # noqa: E402
from rules import RULES, Subject  # noqa: E402


def make(build, folder):
    """The dashboards of the code, in `folder`."""
    program = os.path.join(ROOT, "scripts", "dashboards")
    subprocess.run([program, "--build", build, "--to", folder], check=True)


def check_code(build):
    """The committed files are what the code makes."""
    with tempfile.TemporaryDirectory() as folder:
        make(build, folder)
        names = sorted(set(os.listdir(folder)) | set(os.listdir(FOLDER)))
        _, *differing = filecmp.cmpfiles(folder, FOLDER, names, shallow=False)
    different = sorted(name for group in differing for name in group)
    expect(names and not different, f"run scripts/dashboards: {different} differ")


def subject_of(build):
    with tempfile.TemporaryDirectory() as folder:
        make(build, folder)  # installs the parsers too
    return Subject(read_boards(), Parser(build))


def check_rules(build):
    subject = subject_of(build)
    problems = [f"{rule.__name__}: {found}" for rule in RULES for found in rule(subject)]
    expect(not problems, "\n".join(problems))
    kinds = {language: len(subject.queries(language)) for language in ("promql", "traceql")}
    print(f"grafana: {len(RULES)} rules hold of {kinds}")


def check_mutants(build):
    """Each rule refuses each change that was made for it."""
    subject = subject_of(build)
    named = {rule.__name__: rule for rule in RULES}
    expect(set(named) == set(MUTANTS), f"mutants of other rules than {sorted(named)}")
    survivors = []
    for name, changes in MUTANTS.items():
        for number, change in enumerate(changes):
            boards = copy.deepcopy(subject.boards)
            change(boards)
            if not list(named[name](Subject(boards, subject.parser))):
                survivors.append(f"{name}: change {number} is not refused")
    if survivors:
        raise Failed("\n".join(survivors))
    print(f"figure: {sum(map(len, MUTANTS.values()))} mutants caught")


CHECKS = {
    "Dashboards.AreWhatTheCodeMakes": check_code,
    "Dashboards.KeepTheRules": check_rules,
    "Dashboards.RulesRefuseMutants": check_mutants,
}

if __name__ == "__main__":
    sys.exit(main(CHECKS))
