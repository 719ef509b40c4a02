#!/usr/bin/env python3
"""Checks the chart: run.py CHECK BUILD_DIRECTORY, run.py --list."""
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

# The build lists them before the packages of the tests need to be there.
NAMES = [
    "Lint",
    "Render",
    "Types",
    "Policies",
    "Configuration",
    "WrongValues",
    "WrongConfigurations",
    "Schema",
    "Reference",
    "Files",
    "Dashboards",
    "Notes",
    "Readme",
    "Serves",
]


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(NAMES))
        return 0
    from checks import CHECKS
    from tools import Tools

    if list(CHECKS) != NAMES:
        raise SystemExit(f"chart: run.py lists other checks than {list(CHECKS)}")
    problems = list(CHECKS[sys.argv[1]](Tools(sys.argv[2])))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
