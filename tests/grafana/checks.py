"""Checks of the dashboards, by their names. Each takes the build directory."""
import copy
import filecmp
import os
import subprocess
import tempfile

from boards import FOLDER, Parser, read_boards, read_sources
from mutants import MUTANTS, SOURCE_MUTANTS
from programs import ROOT, expect
from rules import RULES, Subject


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
    return Subject(read_boards(), read_sources(), Parser(build))


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
    made = set(MUTANTS) | set(SOURCE_MUTANTS)
    expect(set(named) == made, f"mutants of other rules than {sorted(named)}")
    survivors, count = [], 0
    for mutants, part in ((MUTANTS, "boards"), (SOURCE_MUTANTS, "sources")):
        for name, changes in mutants.items():
            for number, change in enumerate(changes):
                changed = copy.copy(subject)
                setattr(changed, part, copy.deepcopy(getattr(subject, part)))
                change(getattr(changed, part))
                count += 1
                if not list(named[name](changed)):
                    survivors.append(f"{name}: change {number} of {part} is not refused")
    expect(not survivors, "\n".join(survivors))
    print(f"figure: {count} mutants caught")


CHECKS = {
    "Dashboards.AreWhatTheCodeMakes": check_code,
    "Dashboards.KeepTheRules": check_rules,
    "Dashboards.RulesRefuseMutants": check_mutants,
}
