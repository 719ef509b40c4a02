#!/usr/bin/env python3
"""Executes the commands of README.md and docs/operations.md exactly as written, with the image of
scripts/image: the server in a container, and Compose's two over PostgreSQL.

    tests/walks/long.py BUILD_DIRECTORY [PROGRAMS]

PROGRAMS is a directory with holdfastd and holdfast of the preset release, of which an image is then
made in seconds. No registry of images is needed (stand_ins.yaml). The image is kept in build/image,
as that of tests/image/long.py is. Needs root.

What begins with `report: ` is said in docs/reports/walks.md.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
for name in ("support", "image", "compose"):
    sys.path.append(os.path.join(HERE, "..", name))

import laptop  # noqa: E402
import namespaces  # noqa: E402
import team  # noqa: E402
from built import DATA, build_image  # noqa: E402
from daemon import Daemon  # noqa: E402
from imported import import_image  # noqa: E402
from newcomer import IMAGE, with_image  # noqa: E402
from programs import ROOT, Folder, outcome  # noqa: E402

ARCHIVE = os.path.join(DATA, "holdfast.tar")


def save_image():
    """A daemon inside of the namespaces has no network to build with."""
    with Folder() as folder, Daemon(folder, DATA) as daemon:
        build_image(daemon, folder, IMAGE)
        daemon.docker("save", "--output", ARCHIVE, IMAGE)


def check(build, programs):
    def provide(daemon, folder):
        if programs:
            import_image(daemon, *programs, folder, IMAGE)
        else:
            daemon.docker("load", "--input", ARCHIVE)

    with with_image(build, provide) as newcomer, Folder() as folder:
        laptop.check_documents(newcomer, published=True)
        team.install(newcomer, build, folder)
        team.check(newcomer)


def main():
    build, *programs = [os.path.abspath(path) for path in sys.argv[1:]]
    if not namespaces.inside():
        subprocess.run([os.path.join(ROOT, "scripts", "deps"), "image", "walks"], check=True)
        if not programs:
            save_image()
        return namespaces.enter()
    namespaces.start()
    return outcome("walks", lambda: check(build, programs))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
