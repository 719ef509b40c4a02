"""Programs that tests build of Go modules, and modules whose files they read.

Modules come through Go's ordinary proxy, and each has a digest here or in a go.sum. A program is
built once for each state of its sources and kept in the user's cache.
"""
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import time

from programs import Failed, expect

# Debian's Go is older than what the modules need; then it fetches this one, a module too.
TOOLCHAIN = "1.24.13"
TOOLCHAIN_SUMS = {"x86_64": ("amd64", "h1:5sgfUhn9QCgVl4UYj32GrIYFHI3bi2UX55tNfupXwxc=")}
TRIES = 4  # of what asks the proxy


def cache():
    """The directory for what is built, made if it is missing."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(home, "holdfast")
    os.makedirs(folder, exist_ok=True)
    return folder


def run(command, **options):
    """The output of a command of Go's; what it says of its progress is shown."""
    kept = {key: value for key, value in os.environ.items() if key not in ("GOFLAGS", "GOWORK")}
    environment = kept | {"GOTOOLCHAIN": "local", "GOWORK": "off"}
    ended = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False, **options
    )
    expect(ended.returncode == 0, f"`{' '.join(command)}` ended with {ended.returncode}")
    return ended.stdout


def module(path, version, digest, go=None):
    """The directory of a module's files."""
    command = [go or toolchain(), "mod", "download", "-json", f"{path}@{version}"]
    for tried in range(1, TRIES + 1):
        try:
            # Outside of a module: none is changed.
            found = json.loads(run(command, cwd="/"))
            break
        except Failed as failed:
            if tried == TRIES:
                raise
            print(f"{failed}, try {tried}", flush=True)
    expect(found["Sum"] == digest, f"{path} {version} has the digest {found['Sum']}, not {digest}")
    return found["Dir"]


def is_new_enough(go):
    found = re.match(r"go(\d+)\.(\d+)", run([go, "env", "GOVERSION"], cwd="/"))
    wanted = tuple(map(int, TOOLCHAIN.split(".")[:2]))
    return found is not None and tuple(map(int, found.groups())) >= wanted


def toolchain():
    """A `go` that is new enough: the machine's, or the module golang.org/toolchain."""
    go = shutil.which("go")
    expect(go, "there is no go: scripts/deps cluster installs it")
    if is_new_enough(go):
        return go
    machine = platform.machine()
    expect(machine in TOOLCHAIN_SUMS, f"install Go {TOOLCHAIN} or newer: {machine} has no digest")
    name, digest = TOOLCHAIN_SUMS[machine]
    folder = module("golang.org/toolchain", f"v0.0.1-go{TOOLCHAIN}.linux-{name}", digest, go)
    for part in ("bin", f"pkg/tool/linux_{name}"):
        # A module has no programs, so go makes the files of this one executable where they lie.
        for found in os.scandir(os.path.join(folder, part)):
            if found.is_file():
                os.chmod(found.path, 0o555)
    return os.path.join(folder, "bin", "go")


def version_of(source, path):
    """The version of a module that the go.mod in the directory `source` requires."""
    with open(os.path.join(source, "go.mod"), encoding="utf-8") as file:
        (version,) = set(re.findall(rf"^\t{re.escape(path)} (v\S+)$", file.read(), re.MULTILINE))
    return version


def program(source, name, variables=(), package="."):
    """The program of the directory `source`, or of a package that its go.mod requires, built if it
    is not in the cache. `variables` are those of packages that the linker sets, as
    PACKAGE.NAME=VALUE."""
    flags = ["-trimpath", "-buildvcs=false"]
    flags += ["-ldflags", " ".join(["-s -w", *(f"-X {given}" for given in variables)])]
    digest = hashlib.sha256(" ".join(flags).encode())
    for file in sorted(os.listdir(source)):
        with open(os.path.join(source, file), "rb") as content:
            digest.update(f"\0{file}\0".encode() + content.read())
    target = os.path.join(cache(), f"{name}.{digest.hexdigest()[:16]}")
    with open(os.path.join(cache(), f"{name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(target):
            print(f"{name} is built, which takes minutes, and kept as {target}", flush=True)
            begun = time.monotonic()
            run([toolchain(), "build", *flags, "-o", f"{target}.new", package], cwd=source)
            os.replace(f"{target}.new", target)
            print(f"{name} was built in {time.monotonic() - begun:.0f} s", flush=True)
    return target
