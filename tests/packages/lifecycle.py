"""The packages are installed, serve, are upgraded, removed and purged in a system of their own."""
import json
import os
import re
import resource
import shutil

import built
from programs import CONVERSATION, Folder, Serving, done, expect, project_version, run
from units import settings

UNIT = "lib/systemd/system/holdfast.service"
ENABLED = "etc/systemd/system/multi-user.target.wants/holdfast.service"
STATE, CONFIGURATION = "var/lib/holdfast", "etc/holdfast/holdfastd.yaml"
ENVIRONMENT = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"]
# What the unit asks of systemd, as far as it can be had without: a read-only system, in which the
# directories of its own can be written.
CONFINED = """set -e
mount --rbind "$1" "$1"
mount -t tmpfs tmpfs "$1/tmp"
for own in var/lib/holdfast run/holdfast; do mount --bind "$1/$own" "$1/$own"; done
mount -o remount,bind,ro "$1"
exec "$SANDBOX" "$@"
"""
SANDBOX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sandbox.py")


class System:
    """A Debian system at `root`, in which commands run as root."""

    def __init__(self, root, archive):
        self.root = root
        os.mkdir(root)
        done(["tar", "--extract", "--file", archive, "--directory", root])
        done(["mount", "-t", "proc", "proc", self.path("proc")])
        # Without /sys the first count of the processors leaves ENOENT in errno, which gRPC 1.51.1
        # takes for the result of a connect() that is in progress.
        done(["mount", "-o", "bind,ro", "/sys", self.path("sys")])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        run(["umount", self.path("sys"), self.path("proc")])

    def path(self, below):
        return os.path.join(self.root, below)

    def read(self, below):
        with open(self.path(below), encoding="utf-8") as file:
            return file.read()

    def done(self, *words):
        return done(["chroot", self.root, *ENVIRONMENT, *words])

    def install(self, packages):
        """dpkg -i of copies in the system."""
        names = []
        for package in packages:
            names.append(f"/tmp/{os.path.basename(package)}")
            shutil.copy(package, self.path(names[-1][1:]))
        self.done("dpkg", "--install", *names)

    def holdfast(self, *words):
        """What the installed client says as a user without rights."""
        as_other = ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups"]
        return self.done(*as_other, "holdfast", *words)


def serve(system, log):
    """The server as its unit says, with its user, directories, rights and limits."""
    unit = {key: values[-1] for key, values in settings(system.read(UNIT)).items()}
    for kind, base in (("StateDirectory", "var/lib"), ("RuntimeDirectory", "run")):
        folder = system.path(os.path.join(base, unit[kind]))
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, int(unit[f"{kind}Mode"], 8))
        owner = f"{unit['User']}:{unit['Group']}"
        system.done("chown", owner, f"/{base}/{unit[kind]}")
    # A container may hold its root to fewer files, which the server must do with.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = int(unit["LimitNOFILE"])
    files = files if most == resource.RLIM_INFINITY else min(files, most)
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", CONFINED, "sh"]
    command += [system.root, system.path(UNIT), str(files), unit["Environment"], "--"]
    command += unit["ExecStart"].split()
    return Serving(command, log, env=os.environ | {"SANDBOX": SANDBOX})


def sessions(system):
    rows = json.loads(system.holdfast("--output", "json", "session", "list"))["sessions"]
    return {row["session_id"]: row["revision"] for row in rows}


def expect_installed(system):
    """What the maintainer's script did: a user, and a unit that is enabled and not started."""
    user = re.search(r"^holdfast:x:\d+:\d+:.*:/var/lib/holdfast:", system.read("etc/passwd"), re.M)
    expect(user, "there is no user holdfast")
    expect(os.path.islink(system.path(ENABLED)), "the unit is not enabled")
    secrets = os.stat(system.path("etc/holdfast/holdfastd.env"))
    expect(secrets.st_mode & 0o777 == 0o600 and secrets.st_uid == 0, "holdfastd.env can be read")


def use(system, log):
    """Serves and writes sessions, and is upgraded meanwhile. Returns the sessions."""
    server = serve(system, log)
    try:
        # The process has what the unit says, and no right of root.
        status = done(["cat", f"/proc/{server.pid}/status"])
        expect(re.search(r"^CapBnd:\s0+$", status, re.M), f"it has capabilities: {status}")
        expect(re.search(r"^NoNewPrivs:\s1$", status, re.M), f"it may gain rights: {status}")
        expect(not re.search(r"^Uid:\s0\b", status, re.M), f"it is root: {status}")
        expect(re.search(r"^Seccomp:\s2$", status, re.M), f"it may call everything: {status}")
        system.holdfast("replay", "--run", "kept", "--verify", "/tmp/conversation.jsonl")
        before = sessions(system)
        expect(before, "no session was written")
        with open(system.path(CONFIGURATION), "a", encoding="utf-8") as file:
            file.write("# an administrator's line\n")
        return server, before
    except BaseException:
        server.kill()
        raise


def expect_upgraded(system, log, before):
    """The new version serves the sessions of the former, by the configuration that was edited."""
    expect("administrator's" in system.read(CONFIGURATION), "the configuration was replaced")
    server = serve(system, log)
    try:
        expect(sessions(system) == before, "other sessions than before")
        said = system.holdfast("replay", "--run", "kept", "--verify", "/tmp/conversation.jsonl")
        expect(", 0 differences" in said, said)
    finally:
        ended = server.stop()
    expect(ended == 0, f"the upgraded server ended with {ended}")


def check(build):
    former = built.packages(build, project_version())
    newer = built.packages(build, built.next_version())
    archive = built.system(build, former)
    with Folder() as folder, System(os.path.join(folder, "root"), archive) as system:
        log = os.path.join(folder, "log")
        shutil.copy(CONVERSATION, system.path("tmp/conversation.jsonl"))
        os.chmod(system.path("tmp/conversation.jsonl"), 0o644)
        system.install(former)
        expect_installed(system)
        server, before = use(system, log)
        try:
            system.install(newer)
            expect(sessions(system) == before, "the upgrade ended the server")
        finally:
            ended = server.stop()
        expect(ended == 0, f"the server ended with {ended}")
        version = system.done("dpkg-query", "-W", "-f", "${Version}", "holdfast-server")
        expect(version.startswith(built.next_version()), f"installed is {version}")
        expect_upgraded(system, log, before)
        expect_removed(system)
        print(f"{len(before)} sessions kept over an upgrade and a removal, and gone when purged")


def expect_removed(system):
    """Removed, the sessions and the configuration are kept; purged, they are gone."""
    system.done("dpkg", "--remove", "holdfast-server", "holdfast")
    expect(not os.path.exists(system.path("usr/bin/holdfastd")), "the program is still there")
    kept = os.path.isdir(system.path(STATE)) and os.listdir(system.path(STATE))
    expect(kept, "removing took the sessions")
    expect(os.path.exists(system.path(CONFIGURATION)), "removing took the configuration")
    system.done("dpkg", "--purge", "holdfast-server", "holdfast")
    for gone in (STATE, "etc/holdfast", ENABLED, "etc/systemd/system/holdfast.service"):
        expect(not os.path.lexists(system.path(gone)), f"purging left /{gone}")
