"""This machine as a reader of the documents finds it: its directories for configuration, programs
and data are private to the test, in namespaces of its own, and so are its ports."""
import os
import shutil
import stat

import namespaces
from programs import ROOT, Serving, done, expect, run

# Directories that the commands write to: each is another one inside of the namespaces, a copy of
# the machine's where True.
PRIVATE = {
    "/etc": True,
    "/run": False,
    "/usr/lib/sysusers.d": True,
    "/usr/local": False,
    "/var/backups": False,
    "/var/lib": False,
}
# What the commands name of a clone.
CLONED = ["deploy", os.path.join("tests", "data")]
SHELL = ["bash", "-euo", "pipefail", "-c"]
PROGRAMS = ("holdfastd", "holdfast")
SECONDS = 120
INSTALL = """
install -D -m 0755 build-release/bin/holdfastd /usr/local/bin/holdfastd
install -D -m 0755 build-release/bin/holdfast /usr/local/bin/holdfast
install -D -m 0644 deploy/systemd/holdfast.sysusers.conf /usr/lib/sysusers.d/holdfast.conf
systemd-sysusers
install -D -m 0644 deploy/config/laptop.yaml /etc/holdfast/holdfastd.yaml
install -D -m 0600 deploy/systemd/holdfastd.env /etc/holdfast/holdfastd.env
install -D -m 0644 deploy/systemd/holdfast.service /etc/systemd/system/holdfast.service
sed --in-place s,/usr/bin/,/usr/local/bin/, /etc/systemd/system/holdfast.service
systemctl daemon-reload
systemctl enable --now holdfast
"""
# No systemd runs in the namespaces. This one starts what the unit says, as its user.
SYSTEMCTL = os.path.join(ROOT, "tests", "docs", "systemctl.py")


class Machine:
    """Types commands in a clone. Made inside of the namespaces, of a build and a folder."""

    def __init__(self, build, folder):
        expect(namespaces.inside(), "the machine's own directories would be changed")
        self.build, self.folder = build, folder
        self.clone, self.home = os.path.join(folder, "clone"), os.path.join(folder, "home")
        os.mkdir(self.home)
        for place, copied in PRIVATE.items():
            mine = os.path.join(folder, place.strip("/").replace("/", "-"))
            if copied:
                done(["cp", "--archive", place, mine])
            else:
                os.mkdir(mine)
            done(["mount", "--bind", mine, place])
        for name in CLONED:
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.clone, name))
        self.link_programs(os.path.join(self.clone, "build-release", "bin"))
        os.makedirs("/usr/local/bin")
        self.place = {"HOME": self.home, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def link_programs(self, folder):
        os.makedirs(folder)
        for name in PROGRAMS:
            os.symlink(os.path.join(self.build, "bin", name), os.path.join(folder, name))

    def install_programs(self):
        """As another test has installed them."""
        for name in PROGRAMS:
            os.symlink(os.path.join(self.build, "bin", name), f"/usr/local/bin/{name}")

    def install_service(self):
        """The service runs, as the package holdfast-server installs it, but that /usr/bin is this
        machine's own."""
        self.install_systemctl()
        self.type(INSTALL)

    def install_systemctl(self):
        program = self.write("/usr/local/bin/systemctl", f'#!/bin/sh\nexec "{SYSTEMCTL}" "$@"\n')
        os.chmod(program, 0o755)

    def edit(self, path, words, others):
        """Replaces words of a file of the clone, which it must have."""
        target = os.path.join(self.clone, path)
        with open(target, encoding="utf-8") as file:
            text = file.read()
        expect(words in text, f"{path} does not have `{words}`")
        self.write(target, text.replace(words, others))

    def write(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def _options(self, folder, variables):
        return {"cwd": os.path.join(self.clone, folder), "env": self.place | variables}

    def type(self, commands, folder="", **variables):
        """What the commands print; Failed when one of them fails."""
        shell = run([*SHELL, commands], SECONDS, **self._options(folder, variables))
        expect(shell.returncode == 0, f"ended with {shell.returncode}: {commands}{shell.stdout}")
        return shell.stdout

    def serve(self, commands, folder="", **variables):
        """The server that the last line starts, after the commands before it."""
        *before, last = commands.splitlines(keepends=True)
        if before:
            self.type("".join(before), folder, **variables)
        log = os.path.join(self.folder, "serving.log")
        return Serving([*SHELL, last], log, **self._options(folder, variables))


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)
