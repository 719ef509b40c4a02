#!/usr/bin/env python3
"""Checks the dashboards: run.py CHECK BUILD_DIRECTORY, run.py --list."""
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import programs  # noqa: E402

# The build lists them before the packages of the tests need to be there.
NAMES = [
    "Dashboards.AreWhatTheCodeMakes",
    "Dashboards.KeepTheRules",
    "Dashboards.RulesRefuseMutants",
]


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(NAMES))
        return 0
    from checks import CHECKS

    if list(CHECKS) != NAMES:
        raise SystemExit(f"grafana: run.py lists other checks than {list(CHECKS)}")
    return programs.main(CHECKS)


if __name__ == "__main__":
    sys.exit(main())
