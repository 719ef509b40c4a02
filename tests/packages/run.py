#!/usr/bin/env python3
"""Checks of what is installed, by their names: the packages of the programs of a build, in a Debian
system of their own.

    tests/packages/run.py CHECK BUILD_DIRECTORY
    tests/packages/run.py --list

Lifecycle needs root, or sudo: it takes place in namespaces, without a network. The packages and the
system that they are installed in are kept in BUILD_DIRECTORY/packages for the next time.
"""
import os
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "walks"):
    sys.path.append(os.path.join(HERE, "..", folder))

import namespaces  # noqa: E402
import programs  # noqa: E402

import built  # noqa: E402
import contents  # noqa: E402
import hardening  # noqa: E402
import lifecycle  # noqa: E402

LIFECYCLE = "Lifecycle.KeepsSessionsUntilPurged"
CHECKS = {
    "Programs.AreHardened": hardening.check,
    "Install.BringsWhatThePackagesBring": contents.check_install,
    "Manual.IsWhatTheProgramsSay": contents.check_manual,
    "Packages.AreClean": contents.check_lintian,
    LIFECYCLE: lifecycle.check,
}


def main():
    if sys.argv[1:2] != [LIFECYCLE]:
        return programs.main(CHECKS)
    if namespaces.inside():
        namespaces.start()
        return programs.main(CHECKS)
    built.prepare(os.path.abspath(sys.argv[2]))  # inside there is no network to download by
    return namespaces.enter()


if __name__ == "__main__":
    sys.exit(main())
