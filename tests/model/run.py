#!/usr/bin/env python3
"""Checks the models of docs/model by their names, within their small bounds.

    tests/model/run.py CHECK BUILD_DIRECTORY
    tests/model/run.py --list
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from programs import ROOT, report  # noqa: E402

MODELS = os.path.join(ROOT, "docs", "model")
SCRIPT = os.path.join(ROOT, "scripts", "model")

# Models of the script's own: what it must print of each, and how it must exit.
SAMPLES = [
    ("byte x;", "assert(x == 0)", r"sample +- +\d+  verified$", 0),
    ("byte x;", "assert(x == 1)", r"sample +- +\d+  VIOLATED$", 1),
    ("byte x;", "assert(y == 1)", r"sample +- +\?  DOES NOT COMPILE", 1),
    ("byte x;", "assert(NEEDED(x))", r"SABOTAGE_NEEDED +\d+  refuted$", 0),
    ("byte x;", "assert(USELESS(x))", r"SABOTAGE_USELESS +\d+  SURVIVED$", 1),
    ("int x;", "do :: x = (x + 1) % 4000000 od", r"sample +- +\d+  NOT COMPLETED$", 1),
]
RULES = """
#ifdef SABOTAGE_%s
#define %s(x) (%s)
#else
#define %s(x) (x == 0)
#endif
"""


def sample(declaration, statement):
    rule = ""
    if "NEEDED(" in statement:
        rule = RULES % ("NEEDED", "NEEDED", "x == 1", "NEEDED")
    elif "USELESS(" in statement:
        rule = RULES % ("USELESS", "USELESS", "x < 1", "USELESS")
    return f"{declaration}{rule}\nactive proctype P() {{ {statement} }}\n"


def check_script():
    """The script distinguishes every verdict from the others."""
    for declaration, statement, line, code in SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sample.pml"), "w", encoding="utf-8") as file:
                file.write(sample(declaration, statement))
            ran = subprocess.run(
                [SCRIPT, "--folder", folder], capture_output=True, text=True, check=False
            )
        if ran.returncode != code or not re.search(line, ran.stdout, re.MULTILINE):
            yield f"`{statement}`: exit {ran.returncode}, not {code} with {line}: {ran.stdout}"


def check_model(name):
    ran = subprocess.run([SCRIPT, "--quick", name], capture_output=True, text=True, check=False)
    print(ran.stdout + ran.stderr)
    if ran.returncode != 0:
        yield f"{name} does not hold"


def names():
    return sorted(name[:-4] for name in os.listdir(MODELS) if name.endswith(".pml"))


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


CHECKS = {"Script.DistinguishesVerdicts": check_script}
for model in names():
    CHECKS[f"{camel(model)}.Holds"] = lambda model=model: check_model(model)


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(CHECKS))
        return 0
    return report(CHECKS[sys.argv[1]]())


if __name__ == "__main__":
    sys.exit(main())
