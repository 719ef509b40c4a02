#!/usr/bin/env python3
"""Builds the image with a docker daemon of its own, and runs it as it is meant to be run: not as
root, on a read-only root, without capabilities.

No registry of images is needed: debian:bookworm-slim is made of Debian's packages, where it is not
there yet. The daemon keeps what it builds in build/image, so that a second run compiles again only
if the sources have changed. Needs root, and a kernel with namespaces and cgroups. The programs of
build/bin are those of a test build that the image is compared with.

What begins with `report: ` is said in docs/reports/image.md.
"""
import json
import os
import re
import select
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was
import run  # noqa: E402
from built import DATA, build_image  # noqa: E402
from daemon import DOCKER, Daemon  # noqa: E402
from programs import expect, outcome, project_version  # noqa: E402
from run import ROOT, USER  # noqa: E402

TAG = "holdfast:long"
WAIT_SECONDS = 300
MOST_BYTES = 64 * 1024 * 1024
# Of a key there is more than its first line, which programs know too.
KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}")
# Directories of the build stage: /holdfast, and what lies below it.
FOLDERS = rb"platform|session|server|store-fs|store-postgres|cli|build-release"
BUILT_IN = re.compile(rb"/holdfast/(" + FOLDERS + rb")\b")
LEFT_BEHIND = re.compile(r"(^|/)(\.\w*_history|\.ssh|\.gnupg|\.netrc|\.docker|\.git|\.cache)(/|$)")
CONFINED = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
REPLAY = ["holdfast", "replay", "--run", "kept", "--verify", "/etc/holdfast/conversation.jsonl"]
SERVED = "127.0.0.1:7421"
WHOLE = "3 sessions, 7 turns, 27 messages, 0 differences"


def report(text):
    print(f"report: {text}", flush=True)


# --- What is in it ----------------------------------------------------------------------------


def check_configuration(daemon):
    version = project_version()
    image = daemon.inspect(TAG)
    config, labels = image["Config"], image["Config"]["Labels"]
    expect(config["User"] == f"{USER}:{USER}", f"the user is {config['User']}")
    expect(config["Entrypoint"] == ["holdfastd"], f"the entry is {config['Entrypoint']}")
    expect(config["StopSignal"] == "SIGTERM", f"it is stopped by {config['StopSignal']}")
    expect(list(config["ExposedPorts"]) == ["7420/tcp"], f"ports: {config['ExposedPorts']}")
    test = config["Healthcheck"]["Test"]
    expect(test == ["CMD", "holdfastd", "healthcheck"], f"its health is asked by {test}")
    prefix = "org.opencontainers.image."
    expect(labels[f"{prefix}version"] == version, f"the version's label: {labels}")
    for name in ("title", "description", "revision", "created"):
        expect(labels.get(prefix + name), f"the label {prefix}{name} is missing")
    expect(image["Size"] < MOST_BYTES, f"it has {image['Size']} bytes")
    for name, value in sorted(labels.items()):
        report(f"label {name}={value}")
    report(f"size {image['Size'] / 1e6:.1f} MB, {len(image['RootFS']['Layers'])} layer")
    steps = daemon.docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", TAG).stdout
    expect("/bin/sh" not in steps and "RUN" not in steps, f"a step ran a command: {steps}")


def unpack(daemon, folder):
    """The layers over each other, as a tree; nothing in them is looked at by its name only."""
    archive, tree = os.path.join(folder, "image.tar"), os.path.join(folder, "tree")
    daemon.docker("save", "--output", archive, TAG)
    with tarfile.open(archive) as image:
        manifest = json.load(image.extractfile("manifest.json"))[0]
        for layer in manifest["Layers"]:
            with tarfile.open(fileobj=image.extractfile(layer)) as members:
                for member in members:
                    expect(".wh." not in member.name, f"a layer hides {member.name} of another")
                    expect(not LEFT_BEHIND.search(member.name), f"{member.name} was left behind")
                    members.extract(member, tree, numeric_owner=True)
    os.remove(archive)
    return tree


def check_contents(daemon, folder):
    tree = unpack(daemon, folder)
    run.require_listed(tree)
    run.require_no_tools(tree)
    state = os.lstat(os.path.join(tree, run.STATE))
    owned = (state.st_uid, state.st_gid, state.st_mode & 0o7777)
    expect(owned == (USER, USER, 0o700), f"the state directory has {owned}")
    for below, status in run.entries(tree):
        mine = below == run.STATE
        expect(mine or status.st_uid == status.st_gid == 0, f"{below}: is not root's")
    for below in run.files(tree):
        with open(os.path.join(tree, below), "rb") as file:
            content = file.read()
        # GnuTLS itself carries the keys of its self-test.
        if ".so" not in os.path.basename(below):
            expect(not KEY.search(content), f"{below}: holds a private key")
        if below.startswith("usr/bin/"):
            expect(not BUILT_IN.search(content), f"{below}: names the directory it was built in")
            for switch in (b"HOLDFAST_SABOTEUR", b"no_bounds", b"one_step_behind"):
                expect(switch not in content, f"{below}: knows the switch {switch.decode()}")
    packages = run.spdx(tree)["packages"]
    names = run.files(tree)
    libraries = sum(1 for below in names if ".so" in os.path.basename(below))
    listed = f"{libraries} libraries of {len(packages) - 1} Debian packages"
    report(f"{len(names)} files, {listed}, all listed with their sums; no key, shell or compiler")
    return tree


# --- What it does -----------------------------------------------------------------------------


class Container:
    """One of the image, alone on a network with nothing but its loopback."""

    def __init__(self, daemon, folder, *options):
        self.daemon = daemon
        mounts = ["--volume", "kept:/var/lib/holdfast"]
        mounts += ["--volume", f"{folder}/etc:/etc/holdfast:ro"]
        given = ["run", "--detach", "--network", "none", *CONFINED, *mounts, *options, TAG]
        self.name = daemon.docker(*given).stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.docker("rm", "--force", self.name, check=False)

    def execute(self, *command):
        return self.daemon.docker(
            "exec", self.name, *command, check=False, timeout=WAIT_SECONDS
        )

    def await_health(self):
        """Reads the daemon's events, from the first one on, until one says that it is healthy."""
        wanted = ["--filter", f"container={self.name}", "--filter", "event=health_status"]
        command = [DOCKER, "events", "--since", "0", *wanted, "--format", "{{.Status}}"]
        events = subprocess.Popen(command, env=self.daemon.environment, stdout=subprocess.PIPE)
        try:
            ready, _, _ = select.select([events.stdout], [], [], WAIT_SECONDS)
            line = events.stdout.readline().decode() if ready else "nothing"
        finally:
            events.kill()
            events.wait()
        logs = self.daemon.docker("logs", self.name)
        expect(": healthy" in line, f"its health: {line.strip()}; {logs.stdout}{logs.stderr}")

    def require_confined(self):
        pid = self.daemon.inspect(self.name)["State"]["Pid"]
        status, options = run.facts(pid)
        run.require_unprivileged(status, options)
        expect(int(status["CapBnd"], 16) == 0, f"it can have capabilities: {status['CapBnd']}")
        expect(status["Seccomp"] == "2", "no system call is kept from it")

    def stop(self):
        self.daemon.docker("stop", "--time", "60", self.name)
        return self.daemon.inspect(self.name)["State"]["ExitCode"]


def require_replay(container):
    said = container.execute(*REPLAY)
    expect(said.returncode == 0 and WHOLE in said.stdout, f"replay: {said}")
    return said.stdout.splitlines()[-1]


def require_sessions(container, count):
    listed = container.execute("holdfast", "session", "list")
    expect(listed.stdout.count("-kept") == count, f"it lists {listed}")


def check_serving(daemon, folder):
    with Container(daemon, folder) as container:
        container.await_health()
        container.require_confined()
        replay = require_replay(container)
        report(f"not root, read-only, cap-drop ALL, no-new-privileges, seccomp; replay: {replay}")
        for command in (["sh", "-c", "true"], ["/bin/sh"], ["/bin/bash"]):
            ended = container.execute(*command).returncode
            expect(ended in (126, 127), f"{command} ended with {ended}")
        expect(container.stop() == 0, "SIGTERM does not end it in order")
    with Container(daemon, folder) as container:
        container.await_health()
        require_sessions(container, 3)
        daemon.docker("kill", container.name)
    # As docs/operations.md has it, but on another port: the health check finds the address.
    with open(os.path.join(folder, "etc", "served.yaml"), "w", encoding="utf-8") as file:
        file.write('server: {address: "0.0.0.0:7421", insecure: true}\n')
    given = ["--env", "HOLDFAST_CONFIG=/etc/holdfast/served.yaml"]
    with Container(daemon, folder, *given, "--env", f"HOLDFAST_ADDRESS={SERVED}") as container:
        container.await_health()
        require_sessions(container, 3)
        expect(container.stop() == 0, "SIGTERM does not end it in order")
    report("healthy, no shell, exit 0 on SIGTERM; the volume served a restart and one after a kill")
    report("healthy on 0.0.0.0:7421 with server.insecure, which HOLDFAST_CONFIG names")


def check_refusals(daemon, folder):
    """Without a volume there is no place for sessions, and that is said."""
    started = daemon.docker(
        "run", "--rm", "--network", "none", *CONFINED, TAG, check=False, timeout=WAIT_SECONDS
    )
    said = started.stderr.strip()
    expect(started.returncode == 1 and "/var/lib/holdfast" in said, f"without a volume: {said}")
    report(f"without a volume: exit 1, {said}")
    with open(os.path.join(folder, "etc", "open.yaml"), "w", encoding="utf-8") as file:
        file.write('server: {address: "0.0.0.0:7420"}\n')
    mount = ["--volume", f"{folder}/etc:/etc/holdfast:ro"]
    command = [TAG, "--check-config", "--config", "/etc/holdfast/open.yaml"]
    checked = daemon.docker("run", "--rm", "--network", "none", *mount, *command, check=False)
    said = checked.stderr.strip()
    expect(checked.returncode == 1 and "server.insecure" in said, f"an open address: {said}")
    report(f"an address for others without server.insecure: exit 1, {said.splitlines()[-1]}")


def check_switches(daemon, folder):
    """A test build ends at a switch that it does not know; the image knows none at all."""
    environment = os.environ | {"HOLDFAST_SABOTEUR": "of_no_name", "XDG_STATE_HOME": folder}
    program = os.path.join(run.PROGRAMS, "holdfastd")
    config = os.path.join(folder, "etc", "free.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(run.CONFIG)
    test_build = subprocess.run(
        [program, "--config", config], env=environment, capture_output=True, timeout=WAIT_SECONDS
    )
    expect(test_build.returncode != 0, "a test build takes a switch of no name")
    for name in ("of_no_name", "no_bounds", "one_step_behind"):
        with Container(daemon, folder, "--env", f"HOLDFAST_SABOTEUR={name}") as container:
            container.await_health()
            require_replay(container)
            version = container.execute("holdfastd", "--version").stdout.strip()
            expect("test build" not in version, f"it is {version}")
            expect(container.stop() == 0, f"with {name} it does not end in order")
    report(f"{version}: HOLDFAST_SABOTEUR changes nothing; a test build with the same ends")


def check(folder):
    os.mkdir(os.path.join(folder, "etc"))
    with open(os.path.join(ROOT, "tests", "data", "conversation.jsonl"), "rb") as file:
        recording = file.read()
    with open(os.path.join(folder, "etc", "conversation.jsonl"), "wb") as file:
        file.write(recording)
    for place in (folder, os.path.join(folder, "etc")):
        os.chmod(place, 0o755)
    with Daemon(folder, DATA) as daemon:
        build_image(daemon, folder, TAG)
        check_configuration(daemon)
        check_contents(daemon, folder)
        daemon.docker("volume", "rm", "--force", "kept")
        check_serving(daemon, folder)
        check_refusals(daemon, folder)
        check_switches(daemon, folder)


def main():
    if os.geteuid() != 0:
        print("image: a docker daemon needs root: run this part as root")
        return 1
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "image"], check=True)
    with tempfile.TemporaryDirectory(prefix="holdfast-image-") as folder:
        return outcome("image", lambda: check(folder))


if __name__ == "__main__":
    sys.exit(main())
