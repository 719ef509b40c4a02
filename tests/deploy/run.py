#!/usr/bin/env python3
"""Checks of deploy/ by their names, with real programs, a real PostgreSQL and systemd's analyzer.

    tests/deploy/run.py CHECK BUILD_DIRECTORY
    tests/deploy/run.py --list
"""
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import drill_files
import drill_postgres
import programs
import samples
import unit

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


if __name__ == "__main__":
    sys.exit(programs.main(CHECKS))
