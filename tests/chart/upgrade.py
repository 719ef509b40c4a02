#!/usr/bin/env python3
"""Upgrades three servers of the chart over PostgreSQL across a step of the schema, rolls them back
and upgrades them again, while agents take turns under the documented retry policy.

    tests/chart/upgrade.py BUILD_DIRECTORY [MUTANT...]

The former program is this one without the newest step (HOLDFAST_SABOTEUR=one_step_behind). Three of
its servers serve a database that it migrated. The present program's `migrate` takes the step while
they serve and go on; then each replacement is the chart's: the init container, a new server that is
ready, and an old one that stops. No call may fail, no epoch may move, and every turn is there
exactly once. Each mutant of upgrade_mutants.py must make that fail.
"""
import os
import signal
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

import api  # noqa: E402
import tools  # noqa: E402

from fleet import fleet_over_postgres  # noqa: E402
from programs import FORMER, PRESENT, Failed, expect, outcome  # noqa: E402
from schema_upgrade import Upgrade, upgrade  # noqa: E402
from upgrade_mutants import MUTANTS  # noqa: E402

# Programs, and how many servers are replaced by each.
PLAN = [(PRESENT, 3), (FORMER, 3), (PRESENT, 3)]
PLAN_OF_MUTANTS = [(PRESENT, 1), (FORMER, 1)]


def check(found):
    with fleet_over_postgres(found) as servers:
        print(f"upgrade: {upgrade(Upgrade, servers, PLAN)}; {servers.longest_end()}")


def check_mutant(found, name):
    mutant = MUTANTS[name]
    with fleet_over_postgres(found) as servers:
        try:
            upgrade(mutant, servers, PLAN_OF_MUTANTS)
        except Failed as failed:
            expect(mutant.expected in str(failed), f"mutant {name} fails otherwise: {failed}")
            print(f"upgrade: mutant {name} is caught: {mutant.expected}")
            return
    raise Failed(f"mutant {name} is not caught")


def check_all(found, named):
    if not named:
        check(found)
    tools.for_each(lambda name: check_mutant(found, name), named or MUTANTS)


def main():
    build, named = os.path.abspath(sys.argv[1]), sys.argv[2:]
    api.use_stubs(build)
    found = tools.Tools(build)
    return outcome("upgrade", lambda: check_all(found, named))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends too
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
