"""Debian's promtool, and the files of tests that it runs."""
import json
import os
import re
import subprocess

import yaml

from programs import ROOT, Failed, run

RULES = os.path.join(ROOT, "deploy", "prometheus", "rules.yaml")
ALERTS = os.path.join(ROOT, "deploy", "prometheus", "alerts.yaml")
MINUTES = {"s": 1 / 60, "m": 1, "h": 60, "d": 1440}


def install():
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "metrics"], check=True)


def rules_in(path):
    """The rules of a file, in order."""
    with open(path, encoding="utf-8") as file:
        return [rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"]]


def alerts():
    """Name of an alert -> its rule."""
    return {rule["alert"]: rule for rule in rules_in(ALERTS)}


def minutes(duration):
    number, unit = re.fullmatch(r"(\d+)([smhd])", duration).groups()
    return int(number) * MINUTES[unit]


def selector(name, labels):
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}"


def expectation(expression, minute, samples):
    """That `expression` has these samples, a list of (labels, value), after so many minutes."""
    return {
        "expr": expression,
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": labels, "value": value} for labels, value in samples],
    }


def write(path, content):
    """JSON, which is YAML too."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)


def write_tests(folder, name, rules, tests, evaluate="1m"):
    """A file of tests of these rules alone; its path. A test is (name, series, expectations), and
    its series are values by the minute."""
    write(
        os.path.join(folder, f"{name}.rules.yaml"), {"groups": [{"name": "all", "rules": rules}]}
    )
    made = [
        {
            "name": what,
            "interval": "1m",
            "input_series": [
                {"series": series, "values": values} for series, values in inputs.items()
            ],
            "promql_expr_test": expectations,
        }
        for what, inputs, expectations in tests
    ]
    path = os.path.join(folder, f"{name}.test.yaml")
    write(
        path,
        {"rule_files": [f"{name}.rules.yaml"], "evaluation_interval": evaluate, "tests": made},
    )
    return path


def failures(paths):
    """File of tests -> what promtool says of it, for those that it does not pass. All of them are
    run by one process."""
    process = run(["promtool", "test", "rules", *paths], seconds=600)
    said = re.split(r"^Unit Testing: +", process.stdout, flags=re.MULTILINE)[1:]
    found = dict(part.split("\n", 1) for part in said)
    if set(found) != set(paths):
        raise Failed(f"promtool did not run every file: {process.stdout[-2000:]}")
    return {path: text for path, text in found.items() if not text.strip().startswith("SUCCESS")}
