"""The packages of the programs of a build, of two versions, and a Debian system to install them in.
They are made once for the same inputs."""
import fcntl
import glob
import hashlib
import os
import re

from debian import make_system
from programs import ROOT, done, project_version

# What packages are made of beside the programs.
INPUTS = ("CHANGELOG.md", "README.md", "CMakeLists.txt", "cmake", "deploy", "docs", "protos")
INPUTS += ("scripts/man-pages", "scripts/package", "tests/data")
BUILD_SECONDS = 600
# One of two that the server's package may have, and the smaller one.
USERS = "systemd-standalone-sysusers"


def next_version():
    major, minor, patch = project_version().split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


def files_of(path):
    whole = os.path.join(ROOT, path)
    if os.path.isfile(whole):
        yield whole
    for folder, _, names in os.walk(whole):
        yield from (os.path.join(folder, name) for name in names)


def sum_of_inputs(build):
    digest = hashlib.sha256()
    for path in sorted(path for name in INPUTS for path in files_of(name)):
        with open(path, "rb") as file:
            digest.update(path.encode() + hashlib.file_digest(file, "sha256").digest())
    for program in ("holdfastd", "holdfast"):
        status = os.stat(os.path.join(build, "bin", program))
        digest.update(f"{program} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()


def place(build):
    return os.path.join(build, "packages")


class Kept:
    """The line that a file of the build's packages holds; one process at a time changes it."""

    def __init__(self, build, name):
        os.makedirs(place(build), exist_ok=True)
        self.path = os.path.join(place(build), name)

    def __enter__(self):
        self.file = open(self.path, "a+", encoding="utf-8")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.file.seek(0)
        self.line = self.file.read()
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, line):
        self.file.truncate(0)
        self.file.write(line)


def packages(build, version):
    """Paths of the server's package and of the client's."""
    out = os.path.join(place(build), version)
    with Kept(build, f"{version}.inputs") as kept:
        inputs = sum_of_inputs(build)
        if kept.line != inputs:
            script = [os.path.join(ROOT, "scripts", "package"), "--version", version, "--out", out]
            done([*script, "--programs", os.path.join(build, "bin")], seconds=BUILD_SECONDS)
            kept.write(inputs)
    found = sorted(glob.glob(os.path.join(out, "*.deb")), key=os.path.basename)
    return [path for kind in ("-server_", "holdfast_") for path in found if kind in path]


def field(package, name):
    return done(["dpkg-deb", "--field", package, name]).strip()


def needed(paths):
    """Names of the packages that these need beside each other."""
    names = {USERS}
    for path in paths:
        for choice in field(path, "Depends").split(","):
            name = re.match(r"\s*([\w.+-]+)", choice)[1]
            if name != "systemd":
                names.add(name)
    return sorted(names)


def system(build, paths):
    """A tar of a system that has what the packages need, and nothing else."""
    archive = os.path.join(place(build), "system.tar")
    with Kept(build, "system.packages") as kept:
        wanted = " ".join(needed(paths))
        if kept.line != wanted or not os.path.exists(archive):
            make_system(archive, "essential", wanted.split())
            kept.write(wanted)
    return archive


def prepare(build):
    done([os.path.join(ROOT, "scripts", "deps"), "test"], seconds=BUILD_SECONDS)
    packages(build, next_version())
    system(build, packages(build, project_version()))
