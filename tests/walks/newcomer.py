"""A machine as a reader of the documents has it: docker, the image, and a clone."""
import contextlib
import os
import shutil
import time

from daemon import Daemon
from programs import ROOT, Failed, Folder, done, expect, run

IMAGE = "holdfast:0.1.0"
CONVERSATION = "3 sessions, 7 turns, 27 messages, 0 differences"
SESSIONS = ["greenhouse-first", "night-shift.7-first", "zusammenfassung-first"]
CLONED = ["deploy", os.path.join("tests", "data")]  # what the commands name of a clone
SHELL = ["bash", "-euo", "pipefail", "-c"]
LINES = 30  # of what a block said, when something is wrong


class Newcomer:
    """Types commands in the clone. `client` is a holdfast of the machine's own."""

    def __init__(self, daemon, folder, client):
        self.daemon, self.client = daemon, client
        self.home, self.clone = os.path.join(folder, "home"), os.path.join(folder, "clone")
        self.more = {}  # further variables of the environment
        os.mkdir(self.home)

    def type(self, commands, seconds, umask=0o022):
        """What the commands say; Failed when one of them fails, or all take longer than that."""
        place = {"HOME": self.home, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        place["DOCKER_HOST"] = self.daemon.environment["DOCKER_HOST"]
        began = time.monotonic()
        variables = place | self.more
        shell = run([*SHELL, commands], seconds, cwd=self.clone, env=variables, umask=umask)
        self.typed = (len(commands.splitlines()), time.monotonic() - began)
        said = "\n".join(shell.stdout.splitlines()[-LINES:])
        expect(shell.returncode == 0, f"it ends with {shell.returncode}:\n{said}")
        return shell.stdout

    def report(self, what):
        """Of what was typed last."""
        print(f"report: {what}: {self.typed[0]} lines in {self.typed[1]:.1f} s", flush=True)

    def call(self, address, *words):
        """What the machine's own holdfast says."""
        return done([self.client, "--address", address, *words])

    def docker(self, *words):
        return self.daemon.docker(*words).stdout

    def clean(self):
        """The clone is as it was made, and no container and no volume is left."""
        shutil.rmtree(self.clone, ignore_errors=True)
        for name in CLONED:
            secret = shutil.ignore_patterns(".env")
            shutil.copytree(
                os.path.join(ROOT, name), os.path.join(self.clone, name), ignore=secret
            )
        for kind, rest in (("container", ["--all"]), ("volume", [])):
            found = self.docker(kind, "ls", "--quiet", *rest).split()
            if found:
                self.docker(kind, "rm", "--force", *found)


def require_sessions(said):
    """The conversation was replayed, and its sessions are listed."""
    expect(CONVERSATION in said, f"nothing says `{CONVERSATION}`:\n{said}")
    missing = [name for name in SESSIONS if f"\n{name}" not in f"\n{said}"]
    expect(not missing, f"{missing} are not listed:\n{said}")


@contextlib.contextmanager
def with_image(build, provide):
    """A newcomer whose docker has the image, which `provide(daemon, folder)` brings."""
    with Folder() as folder:
        with Daemon(folder, os.path.join(folder, "docker"), networked=True) as daemon:
            provide(daemon, folder)
            yield Newcomer(daemon, folder, os.path.join(build, "bin", "holdfast"))


def require_refused(change, check, newcomer, text):
    """The check fails with the text, which has the change."""
    try:
        check(newcomer, text)
    except Failed as failed:
        print(f"{change}: {'; '.join(str(failed).splitlines()[:3])}", flush=True)
        return
    raise Failed(f"{change}: is not noticed")
