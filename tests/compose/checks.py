"""Checks of deploy/compose, by their names. Each takes the build directory."""
import copy
import os
import subprocess
import tempfile

import serving
from mutants import MUTANTS
from programs import ROOT, Failed, done, expect
from rules import RULES, source_of
from tools import FILE, copy_into, example_variables, load, read


def check_loads(build):
    """Compose takes the file, and refuses it without a secret or with a key of no meaning."""
    variables = example_variables()
    load(build, variables)
    for name in variables:
        try:
            load(build, {key: value for key, value in variables.items() if key != name})
        except Failed as refused:
            expect(name in str(refused), f"without {name}: {refused}")
            continue
        raise Failed(f"Compose needs no {name}")
    with tempfile.TemporaryDirectory() as folder:
        wrong = os.path.join(folder, "compose.yaml")
        with open(wrong, "w", encoding="utf-8") as file:
            file.write(read(FILE).replace("stop_signal:", "stop_sign:"))
        try:
            load(build, variables, wrong)
        except Failed as refused:
            expect("stop_sign" in str(refused), f"a wrong key: {refused}")
            return
        raise Failed("Compose takes a key that does not exist")


def check_rules(build):
    found = load(build, example_variables())
    problems = [f"{rule.__name__}: {wrong}" for rule in RULES for wrong in rule(found)]
    expect(not problems, "\n".join(problems))


def check_mutants(build):
    """Each rule refuses each change that was made for it."""
    found = load(build, example_variables())
    named = {rule.__name__: rule for rule in RULES}
    expect(set(named) == set(MUTANTS), f"mutants of other rules than {sorted(named)}")
    survivors = []
    for name, changes in MUTANTS.items():
        for number, change in enumerate(changes):
            changed = copy.deepcopy(found)
            change(changed)
            if not list(named[name](changed)):
                survivors.append(f"{name}: change {number} is not refused")
    expect(not survivors, "\n".join(survivors))
    print(f"figure: {sum(map(len, MUTANTS.values()))} mutants caught")


def check_configurations(build):
    """Holdfast and Prometheus take their files."""
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "metrics"], check=True)
    found = load(build, example_variables())["services"]
    holdfastd = os.path.join(build, "bin", "holdfastd")
    for service, target in (("holdfast-a", "holdfastd.yaml"), ("migrate", "migrate.yaml")):
        path = source_of(found[service], f"/etc/holdfast/{target}")
        done([holdfastd, "--check-config", "--config", path])
    with tempfile.TemporaryDirectory() as folder:
        for name in ("prometheus.yaml", "rules.yaml", "alerts.yaml"):
            copy_into(folder, source_of(found["prometheus"], f"/etc/prometheus/{name}"))
        print(done(["promtool", "check", "config", os.path.join(folder, "prometheus.yaml")]))


CHECKS = {
    "File.IsTakenByCompose": check_loads,
    "File.KeepsTheRules": check_rules,
    "File.RulesRefuseMutants": check_mutants,
    "File.ConfigurationsAreValid": check_configurations,
    "Services.ServeWithTheseFiles": serving.check,
}
# A part of the last one, in namespaces of its own.
INSIDE = {"InNamespaces": serving.check_inside}
