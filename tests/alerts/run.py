#!/usr/bin/env python3
"""Checks of the alerts, their rules and their runbooks, with Debian's promtool.

    tests/alerts/run.py CHECK BUILD_DIRECTORY
    tests/alerts/run.py --list
"""
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

# The build lists them before the packages of the tests need to be there.
NAMES = [
    "Rules.AreValid",
    "Rules.RecordTheIndicators",
    "Rules.NameMetricsThatExist",
    "Alerts.FireAndStaySilent",
    "Alerts.MutantsAreCaught",
    "Runbooks.HaveASectionForEachAlert",
]


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(NAMES))
        return 0
    import promtool
    from checks import CHECKS
    from programs import report

    if list(CHECKS) != NAMES:
        raise SystemExit(f"alerts: run.py lists other checks than {list(CHECKS)}")
    promtool.install()
    return report(CHECKS[sys.argv[1]]())


if __name__ == "__main__":
    sys.exit(main())
