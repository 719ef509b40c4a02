#!/usr/bin/env python3
"""Runs servers in containers of one CPU and little memory, and offers them more than they can do.

    tests/chart/confined.py BUILD_DIRECTORY

The kernel holds the processes to the limits by control groups of version 1, which this needs; the
server reads the same limits where a container of version 2 has them. It must refuse
with RetryInfo, answer its probes, never be killed for its memory, and lose nothing.
"""
import concurrent.futures
import contextlib
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

import api  # noqa: E402
import serving  # noqa: E402
import tools  # noqa: E402

from programs import CONVERSATION, Serving, done, expect, outcome, run, wait_for  # noqa: E402

MIB = 2**20
GROUPS = "/sys/fs/cgroup"
# Sets the files of a container up over those of the machine, in a mount namespace of its own.
IN_CONTAINER = """
mount -t tmpfs none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/unified
for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
  echo "$1" >"$folder/memory.max"
  echo '100000 100000' >"$folder/cpu.max"
done
shift
exec "$@"
"""
LARGE, SMALL = 4 * MIB - 64 * 1024, 1024
AT_ONCE = {LARGE: 400, SMALL: 6000}  # calls, by the bytes of each
WORKERS = 16
PROBES = ("readiness", "liveness")
FAILURES = 3  # in a row; the default of the API
CALL_SECONDS = 120


class Group:
    """One CPU and so many bytes; what runs in it is moved there."""

    def __init__(self, size):
        name = f"holdfast-test-{os.getpid()}"
        self.memory = os.path.join(GROUPS, "memory", name)
        self.processor = os.path.join(GROUPS, "cpu", name)
        self.size = size

    def __enter__(self):
        for folder in (self.memory, self.processor):
            os.mkdir(folder)
        self.write(self.memory, "memory.limit_in_bytes", self.size)
        self.write(self.processor, "cpu.cfs_period_us", 100_000)
        self.write(self.processor, "cpu.cfs_quota_us", 100_000)
        return self

    def __exit__(self, *_):
        for folder in (self.memory, self.processor):
            removed = lambda: self.remove(folder)
            wait_for(f"the end of {folder}", removed)

    @staticmethod
    def remove(folder):
        try:
            os.rmdir(folder)
        except OSError:  # its last process is not gone yet
            return False
        return True

    @staticmethod
    def write(folder, name, value):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def read(self, name):
        with open(os.path.join(self.memory, name), encoding="ascii") as file:
            return file.read()

    def command(self, command):
        """What runs `command` in the group, with the limits where a container has them."""
        move = 'for group in "$1" "$2"; do echo $$ >"$group/cgroup.procs"; done'
        enter = move + '; shift 2; exec "$@"'
        inside = ["unshare", "--mount", "sh", "-euc", IN_CONTAINER, "sh", str(self.size)]
        return ["sh", "-euc", enter, "sh", self.memory, self.processor, *inside, *command]

    def killed(self):
        """How many processes the kernel ended for their memory."""
        facts = dict(line.split() for line in self.read("memory.oom_control").splitlines())
        return int(facts["oom_kill"])


def refusal(error):
    """The reason of a refused call, and whether it says when to come again."""
    from google.rpc import error_details_pb2 as details
    from google.rpc import status_pb2

    status = status_pb2.Status()
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            status.ParseFromString(value)
    reason, again = "", False
    for detail in status.details:
        info = details.ErrorInfo()
        if detail.Unpack(info):
            reason = info.reason
        again = again or detail.Is(details.RetryInfo.DESCRIPTOR)
    return reason or error.code().name, again


def offer(address, size, count):
    """`count` creations at once, each with a message of `size` bytes: the names of those that were
    acknowledged, and the refusals by reason."""
    import grpc
    from holdfast.v1.session_service_pb2_grpc import SessionServiceStub

    data = os.urandom(size // 2).hex().encode()
    acknowledged, refused = [], {}
    with contextlib.ExitStack() as stack:
        options = [("grpc.use_local_subchannel_pool", 1)]
        stubs = [
            SessionServiceStub(stack.enter_context(grpc.insecure_channel(address, options)))
            for _ in range(WORKERS)
        ]
        calls = []
        for number in range(count):
            name = f"of-{size}-{number}"
            request = api.create(name, messages=[api.message(data)])
            stub = stubs[number % WORKERS]
            calls.append((name, stub.CreateSession.future(request, timeout=CALL_SECONDS)))
        for name, call in calls:
            try:
                call.result()
                acknowledged.append(name)
            except grpc.RpcError as error:
                reason, again = refusal(error)
                expect(reason != "OVERLOADED" or again, f"{name} is refused without RetryInfo")
                refused[reason] = refused.get(reason, 0) + 1
    return acknowledged, refused


class Kubelet:
    """Asks probes one after the other; would end the pod where one fails as often in a row as its
    threshold says."""

    def __init__(self, pod):
        self.pod, self.asked = pod, 0
        self.failures = dict.fromkeys(PROBES, 0)

    def ask(self):
        for name in PROBES:
            code, said = self.pod.probe(name)
            self.asked += 1
            self.failures[name] = 0 if code == 0 else self.failures[name] + 1
            often = self.failures[name]
            expect(often < FAILURES, f"the {name} probe failed {often} times in a row: {said}")


def overload(group, pod):
    """Offers what is too much while the probes are asked, and looks for what was acknowledged."""
    there, reasons, kubelet = [], {}, Kubelet(pod)
    for size, count in AT_ONCE.items():
        with concurrent.futures.ThreadPoolExecutor() as pool:
            offered = pool.submit(offer, pod.address, size, count)
            while not offered.done():
                kubelet.ask()
            acknowledged, refused = offered.result()
        there += acknowledged
        for reason, times in refused.items():
            reasons[reason] = reasons.get(reason, 0) + times
    expected = "OVERLOADED" in reasons and reasons.keys() <= {"OVERLOADED", *pod.also}
    expect(expected, f"calls were refused for {reasons}")
    missing = set(there) - listed(pod)
    expect(not missing, f"{len(missing)} of {len(there)} acknowledged sessions are not there")
    expect(group.killed() == 0, "the kernel ended a process for its memory")
    most = int(group.read("memory.max_usage_in_bytes"))
    print(
        f"confined: {group.size // MIB} MiB: {len(there)} calls were served, {reasons} refused;"
        f" {kubelet.asked} probes; memory with caches was at most {most // MIB} MiB"
    )


def client(pod, *words):
    program = os.path.join(os.path.dirname(pod.found.holdfastd), "holdfast")
    return done([program, "--address", pod.address, *words])


def listed(pod):
    rows = json.loads(client(pod, "--output", "json", "session", "list", "--limit", "0"))
    return {row["session_id"] for row in rows["sessions"]}


def check(found, size, values):
    """The server's container of the chart with `values` in a group of `size` bytes."""
    more = [word for value in values for word in ("--set", value)]
    objects = tools.load_all(found.template(4, [], more=["--set", "probes.kind=exec", *more]))
    with Group(size) as group, tempfile.TemporaryDirectory(prefix="holdfast confined ") as folder:
        pod = serving.Pod(found, objects, folder, serving.ADDRESSES)
        pod.also = ()
        resources = pod.container("holdfastd")["resources"]["limits"]
        expect(resources.get("memory") == f"{size // MIB}Mi", f"{resources} is not {size} bytes")
        serve(group, pod)


def line_of_start(path):
    """What the server has said of its container; nothing while it has not."""
    with open(path, encoding="utf-8") as log:
        lines = [json.loads(line) for line in log if line.endswith("\n")]
    return next((line for line in lines if line["message"] == "serving"), None)


def serve(group, pod):
    pod.wrap = group.command
    try:
        pod.start()
        # The log is written by a thread of its own.
        facts = wait_for("the line of the start", lambda: line_of_start(f"{pod.folder}/log"))
        expect(facts["container_bytes"] == group.size, f"it sees another container: {facts}")
        expect(facts["container_cores"] == 1, f"it sees another container: {facts}")
        overload(group, pod)
        client(pod, "replay", "--run", "after", "--verify", CONVERSATION)
        expect(pod.stop() == 0, "the server did not stop in order")
    finally:
        pod.end()


class Smallest:
    """The server's own defaults, in less memory than the chart takes."""

    # The guard of the process's memory closes connections that sent more than fits.
    also = ("UNAVAILABLE",)

    def __init__(self, found, folder):
        self.found, self.folder, self.serving, self.wrap = found, folder, None, None

    def start(self):
        config = f"{self.folder}/holdfastd.yaml"
        with open(config, "w", encoding="utf-8") as file:
            file.write("server: {address: '127.0.0.1:0'}\n")
            file.write(f"stores: [{{name: local, active: true, root: '{self.folder}/root'}}]\n")
        command = self.wrap([self.found.holdfastd, "--config", config])
        self.serving = Serving(command, f"{self.folder}/log")
        self.address = self.serving.address

    def probe(self, name):
        service = ["--service", "liveness"] if name == "liveness" else []
        asked = [self.found.holdfastd, "healthcheck", "--address", self.address, *service]
        ended = run(asked)
        return ended.returncode, ended.stdout

    def stop(self):
        return self.serving.stop()

    def end(self):
        if self.serving is not None:
            self.serving.kill()


def smallest(found, size):
    with Group(size) as group, tempfile.TemporaryDirectory(prefix="holdfast confined ") as folder:
        serve(group, Smallest(found, folder))


def checks(build):
    found = tools.Tools(build)
    smallest(found, 512 * MIB)
    limits = ["resources.limits.memory=1312Mi", "resources.limits.cpu=1"]
    check(found, 1312 * MIB, ["config.limits.memory_budget=400MiB", *limits])


def main():
    build = os.path.abspath(sys.argv[1])
    api.use_stubs(build)
    return outcome("confined", lambda: checks(build))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
