"""How the scripts of this folder leave something behind: whole and durable, or not at all.

What is made is built in a directory beside its destination, synced, and renamed. A destination that
holds anything is never touched.
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

FORMAT = 1
LABEL = "BACKUP"  # the file that says what a backup is; the last one that is written


class Refused(Exception):
    """Why nothing was done, and what to do."""


def sync_file_system(path):
    """Makes everything durable that was written to the file system of `path`. One call, because a
    sync for each of many small files takes minutes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
    finally:
        os.close(descriptor)


class Staging:
    """A private directory beside `destination`, which takes that name in `place`. Without `place`
    it is removed at the end of the `with`."""

    def __init__(self, destination):
        self.destination = os.path.abspath(destination)
        if os.path.ismount(self.destination):
            raise Refused(f"{destination} is a mount point: name a directory inside it")
        if os.path.lexists(self.destination) and not self._is_empty():
            raise Refused(f"{destination} is there already: name one that is not, or is empty")
        self.parent, name = os.path.split(self.destination)
        if not os.path.isdir(self.parent):
            raise Refused(f"{self.parent} is no directory: make it first")
        self._prefix = f".{name}.unfinished."

    def _is_empty(self):
        return os.path.isdir(self.destination) and not os.listdir(self.destination)

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix=self._prefix, dir=self.parent)
        return self

    def place(self):
        sync_file_system(self.path)
        # Replaces nothing but an empty directory: the system refuses to replace another one.
        os.rename(self.path, self.destination)
        sync_file_system(self.parent)

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def write_label(folder, facts):
    with open(os.path.join(folder, LABEL), "x", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        json.dump({"format": FORMAT} | facts, file, indent=1)
        file.write("\n")


def read_label(folder, kind):
    path = os.path.join(folder, LABEL)
    try:
        with open(path, encoding="utf-8") as file:
            facts = json.load(file)
    except FileNotFoundError:
        raise Refused(f"{folder} is no finished backup: it has no file {LABEL}") from None
    if facts.get("format") != FORMAT or facts.get("kind") != kind:
        found = f"format {facts.get('format')}, kind {facts.get('kind')}"
        raise Refused(f"{path} is of {found}: this command reads format {FORMAT}, kind {kind}")
    return facts


def run(command, seconds, **options):
    """The finished program, which took no longer and said on standard error what was wrong."""
    try:
        return subprocess.run(
            command, check=True, timeout=seconds, stdin=subprocess.DEVNULL, **options
        )
    except FileNotFoundError:
        raise Refused(f"{command[0]} is not installed, or not in PATH") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{command[0]} took more than {seconds} s: see --timeout") from None
    except subprocess.CalledProcessError as failed:
        raise Refused(f"{command[0]} ended with {failed.returncode}") from None


def output(command, seconds):
    """What a program writes to standard output."""
    return run(command, seconds, stdout=subprocess.PIPE, text=True).stdout


def main(script, act):
    """The exit code: 0 done, 1 refused or failed with the reason on standard error."""
    os.umask(0o077)
    try:
        act()
    except (Refused, OSError) as problem:
        print(f"{script}: {problem}", file=sys.stderr)
        return 1
    return 0
