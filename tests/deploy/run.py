#!/usr/bin/env python3
"""Checks of deploy/ by their names, with real programs, a real PostgreSQL and systemd's analyzer.

    tests/deploy/run.py CHECK BUILD_DIRECTORY
    tests/deploy/run.py --list
"""
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was

import drill_files
import drill_postgres
import samples
import unit
from programs import Failed

CHECKS = {
    "Config.EverySampleIsAccepted": samples.check,
    "Unit.IsValid": unit.check_valid,
    "Unit.IsHardened": unit.check_hardened,
    "Unit.AllowsWhatAServerCalls": unit.check_system_calls,
    "Files.RestoresWhatWasAcknowledged": drill_files.check,
    "Files.RefusesWhatIsNotWhole": drill_files.check_wholeness,
    "Files.CopiesWhatIsBeyondOldWatermarks": drill_files.check_quiet,
    "Files.ServesAVolumeThatMoved": drill_files.check_volume,
    "Postgres.RestoresALogicalCopy": drill_postgres.check_dump,
    "Postgres.RestoresAPhysicalCopy": drill_postgres.check_base,
}


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(CHECKS), end="")
        return 0
    name, build = sys.argv[1:]
    sys.stdout.reconfigure(line_buffering=True)
    try:
        CHECKS[name](os.path.abspath(build))
    except Failed as failed:
        print(f"{name}: {failed}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
