#!/usr/bin/env python3
"""Executes the commands with which the documents introduce Holdfast, exactly as written, with a
real docker daemon in namespaces of its own.

    tests/walks/run.py CHECK BUILD_DIRECTORY
    tests/walks/run.py --list

Needs root, or sudo. long.py runs them with the image that scripts/image builds, and Compose's.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "image", "compose"):
    sys.path.append(os.path.join(HERE, "..", folder))

import programs  # noqa: E402
from programs import ROOT  # noqa: E402

import laptop  # noqa: E402
import namespaces  # noqa: E402

CHECKS = {"LongLaptop.ServesByTheImage": laptop.check}


def main():
    if sys.argv[1:] == ["--list"]:
        return programs.main(CHECKS)
    if namespaces.inside():
        namespaces.start()
        return programs.main(CHECKS)
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "walks"], check=True)
    return namespaces.enter()


if __name__ == "__main__":
    sys.exit(main())
