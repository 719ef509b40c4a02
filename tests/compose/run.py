#!/usr/bin/env python3
"""Checks deploy/compose: run.py CHECK BUILD_DIRECTORY, run.py --list.

The check that serves needs the right to make namespaces: it calls sudo where it does not run as
root.
"""
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import programs  # noqa: E402

# The build lists them before the packages of the tests need to be there.
NAMES = [
    "File.IsTakenByCompose",
    "File.KeepsTheRules",
    "File.RulesRefuseMutants",
    "File.ConfigurationsAreValid",
    "Services.ServeWithTheseFiles",
]


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(NAMES))
        return 0
    from checks import CHECKS, INSIDE

    if list(CHECKS) != NAMES:
        raise SystemExit(f"compose: run.py lists other checks than {list(CHECKS)}")
    return programs.main(CHECKS | INSIDE)


if __name__ == "__main__":
    sys.exit(main())
