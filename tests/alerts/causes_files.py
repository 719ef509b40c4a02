"""Causes of alerts of servers over files: each is made, the alert fires, and the steps of
docs/runbooks.md end it."""
import concurrent.futures
import contextlib
import json
import os
import shutil
import subprocess
import threading

import api
from clients import Agents, Client
from programs import done, expect, free_port, wait_for
from stage import Holdfastd, Job

DISK_MEBIBYTES = 48
UNREAD_TURNS = 600  # more events than the transport takes for a client that does not read
LARGE_BYTES = 2 << 20
FILL_BYTES, FILL_PAUSE = 64 << 10, 0.2  # 320 KiB a second


@contextlib.contextmanager
def small_disk(folder):
    path = os.path.join(folder, "disk")
    os.mkdir(path)
    done(["mount", "-t", "tmpfs", "-o", f"size={DISK_MEBIBYTES}m", "tmpfs", path])
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=False)


def fill(path, stop):
    """Writes until nothing more fits, and then whatever room there is again, until `stop`."""
    with open(path, "wb", buffering=0) as file:
        while not stop.wait(FILL_PAUSE):
            with contextlib.suppress(OSError):
                file.write(b"x" * FILL_BYTES)


def disk_fills(build, folder, prometheus, seen):
    """Another program fills the file system of the store."""
    alerts = ["HoldfastDiskFullSoon", "HoldfastDiskNearlyFull", "HoldfastDiskFills"]
    with small_disk(folder) as disk:
        store = {"root": os.path.join(disk, "root")}
        with Holdfastd(build, folder, "disk", store) as server:
            job = Job(prometheus, "disk", [server], seen)
            other, stop = os.path.join(disk, "other"), threading.Event()
            with Agents(server.address, 2):
                job.quiet(*alerts, "HoldfastStorageFull")
                writer = threading.Thread(target=fill, args=(other, stop))
                writer.start()
                try:
                    job.fires(*alerts, "HoldfastStorageFull")
                finally:
                    stop.set()
                    writer.join()
                os.remove(other)  # make room
                job.over("HoldfastStorageFull", *alerts)
            prometheus.forget("disk")


def servers_restart(build, folder, prometheus, seen):
    """One of two servers of a job is killed again and again, stays away, and then both do."""
    servers = [
        Holdfastd(build, folder, f"restart-{number}", {"root": f"{folder}/restart-{number}"})
        for number in range(2)
    ]
    with contextlib.ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        job = Job(prometheus, "restart", servers, seen)
        first, second = servers
        job.quiet("HoldfastRestarts", "HoldfastServerDown", "HoldfastNoServer")
        instance = f'instance="127.0.0.1:{first.metrics}"'

        def scraped():
            found = prometheus.query(f"process_start_time_seconds{{{instance}}}")
            return found and found[0]["value"][1]

        for _ in range(4):
            before = wait_for("a scrape", scraped)
            first.kill()
            first.start()
            wait_for(
                "a scrape of the next process",
                lambda before=before: scraped() not in ([], before),
            )
        job.fires("HoldfastRestarts")
        job.over("HoldfastRestarts")  # it runs on
        first.kill()
        job.fires("HoldfastServerDown")
        second.kill()
        job.fires("HoldfastNoServer")
        first.start()
        job.over("HoldfastNoServer")
        second.start()
        job.over("HoldfastServerDown")
        prometheus.forget("restart")


def configuration(build, folder, prometheus, seen):
    """What is not protected, and what may be lost, is configured."""
    store = {"root": f"{folder}/configured", "durability": "interval", "interval": "1s"}
    alerts = ["HoldfastInsecure", "HoldfastStoreWarnings"]
    with Holdfastd(build, folder, "configured", store, server={"insecure": True}) as server:
        job = Job(prometheus, "configured", [server], seen)
        job.fires(*alerts)
        server.stop()
        server.sections["server"].pop("insecure")
        server.sections["stores"][0].pop("interval")
        server.sections["stores"][0]["durability"] = "sync"
        server.start()
        job.over(*alerts)
        prometheus.forget("configured")


class Collector:
    """Takes every export of spans, or refuses it for good."""

    def __init__(self, port, refuses):
        import grpc

        def answer(request, context):
            del request
            if refuses:
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "spans are not wanted")
            return b""

        class AnyMethod(grpc.GenericRpcHandler):
            def service(self, handler_call_details):
                del handler_call_details
                return grpc.unary_unary_rpc_method_handler(answer)

        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        self.server.add_generic_rpc_handlers((AnyMethod(),))
        expect(self.server.add_insecure_port(f"127.0.0.1:{port}") == port, "no port")

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(None).wait()


def ask(client, stop):
    """Sessions that are not there, as fast as one client can."""
    while not stop.is_set():
        client.get("none")


@contextlib.contextmanager
def askers(address, count):
    stop = threading.Event()
    threads = [threading.Thread(target=ask, args=(Client(address), stop)) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def collector_away(build, folder, prometheus, seen):
    """No collector listens while calls are many, and then one refuses every span. What is not
    answered is retried up to 16 s later, which no factor divides; what is refused is not retried.
    """
    port, alerts = free_port(), ["HoldfastSpansLost", "HoldfastLogLinesLeftOut"]
    telemetry = {"otlp_endpoint": f"127.0.0.1:{port}", "sampled_roots_per_second": 10000}
    store = {"root": f"{folder}/traced"}
    with Holdfastd(build, folder, "traced", store, telemetry=telemetry) as server:
        job = Job(prometheus, "traced", [server], seen)
        job.quiet(*alerts, "HoldfastSpanExportsFail")
        with askers(server.address, 2):
            job.fires(*alerts)
            with Collector(port, refuses=True):
                job.fires("HoldfastSpanExportsFail")
            with Collector(port, refuses=False):
                job.over("HoldfastSpanExportsFail", "HoldfastSpansLost")
        job.over("HoldfastLogLinesLeftOut")
        prometheus.forget("traced")


def watch_unread(build, folder, prometheus, seen):
    """A client stops to read its watch, for less than its write timeout, and goes on."""
    from holdfast.v1 import watch_pb2

    limits = {"watch_write_timeout": "300s"}
    store = {"root": f"{folder}/watched"}
    with Holdfastd(build, folder, "watched", store, limits=limits) as server:
        job = Job(prometheus, "watched", [server], seen)
        writer = Client(server.address)
        token = writer.create("one")
        # It takes as little as it can before it is read.
        narrow = [("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0)]
        stream = Client(server.address, options=narrow).stub.WatchSession(
            watch_pb2.WatchSessionRequest(session_id="one")
        )
        next(message for message in stream if message.HasField("progress"))
        for _ in range(UNREAD_TURNS):
            expect(writer.commit("one", token, writer.begin("one", token).turn), "no commit")
        job.quiet("HoldfastWatchLag")
        job.fires("HoldfastWatchLag")
        reader = threading.Thread(target=read_all, args=(stream,))
        reader.start()
        job.over("HoldfastWatchLag")
        stream.cancel()
        reader.join()
        prometheus.forget("watched")


def read_all(stream):
    """Until it is cancelled."""
    import grpc

    with contextlib.suppress(grpc.RpcError):
        for _ in stream:
            pass


def log_unread(build, folder, prometheus, seen):
    """Nothing reads the log of a server with much to say."""
    pipe = os.path.join(folder, "unread")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    server = Holdfastd(build, folder, "unread", {"root": f"{folder}/unread-root"})
    server.log = pipe
    server.sections["telemetry"] = {"calls": "all"}
    with server:
        job = Job(prometheus, "unread", [server], seen)
        job.quiet("HoldfastLogLinesLost")
        stop = threading.Event()
        threads = [
            threading.Thread(target=echo, args=(Client(server.address), stop)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        try:
            job.fires("HoldfastLogLinesLost")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        os.set_blocking(reader, True)
        threading.Thread(target=drain, args=(reader,), daemon=True).start()
        job.over("HoldfastLogLinesLost")
        prometheus.forget("unread")
        server.stop()


def echo(client, stop):
    from holdfast.v1 import admin_service_pb2

    while not stop.is_set():
        client.call(client.admin.Echo, admin_service_pb2.EchoRequest())


def drain(reader):
    while os.read(reader, 1 << 16):
        pass


def holders_gone(build, folder, prometheus, seen):
    """Twelve agents begin a turn and are gone."""
    recovery = {"sweep_interval": "1s", "abandon_after": "1s"}
    store = {"root": f"{folder}/swept"}
    with Holdfastd(build, folder, "swept", store, recovery=recovery) as server:
        job = Job(prometheus, "swept", [server], seen)
        job.quiet("HoldfastHoldersGone")
        client = Client(server.address)
        for number in range(12):
            token = client.create(f"agent-{number}", ttl=5)
            expect(token and client.begin(f"agent-{number}", token), "no turn begins")
        job.fires("HoldfastHoldersGone")
        cli = os.path.join(build, "bin", "holdfast")
        command = [cli, "--address", server.address, "session", "resume", "agent-0"]
        done(command)  # a holder comes back
        job.over("HoldfastHoldersGone")
        prometheus.forget("swept")


def damage(build, folder, prometheus, seen):
    """The manifest of a session is not what was written."""
    root = os.path.join(folder, "damaged")
    with Holdfastd(build, folder, "damaged", {"root": root}) as server:
        job = Job(prometheus, "damaged", [server], seen)
        expect(Client(server.address).create("one"), "no session is created")
        server.stop()
        backup = os.path.join(folder, "backup")
        done(["cp", "-a", root, backup])
        (place,) = [
            path for path, _, names in os.walk(root) if any("manifest" in name for name in names)
        ]
        (manifest,) = [name for name in os.listdir(place) if "manifest" in name]
        with open(os.path.join(place, manifest), "r+b") as file:
            file.write(b"damaged")
        server.start()
        job.quiet("HoldfastSessionsDamaged")
        client = Client(server.address)
        for _ in range(3):
            client.get("one")
        job.fires("HoldfastSessionsDamaged")
        server.stop()
        shutil.move(place, os.path.join(folder, "kept"))
        kept = os.path.join(backup, os.path.relpath(place, root))
        done(["cp", "-a", kept, place])
        server.start()
        cli = os.path.join(build, "bin", "holdfast")
        done([cli, "--address", server.address, "session", "show", "one"])
        job.over("HoldfastSessionsDamaged")
        prometheus.forget("damaged")


def no_room(build, folder, prometheus, seen):
    """The server gets no memory for a large object."""
    switch = os.path.join(folder, "no-room")
    server = Holdfastd(build, folder, "no-room", {"root": f"{folder}/no-room-root"})
    library = os.path.join(build, "tests", "libno_room.so")
    server.program = ["env", f"LD_PRELOAD={library}", f"HOLDFAST_NO_ROOM={switch}"]
    with server:
        job = Job(prometheus, "no-room", [server], seen)
        client = Client(server.address)
        token = client.create("one")
        turn = client.begin("one", token).turn
        request = api.commit("one", token, turn, b'"' + b"x" * LARGE_BYTES + b'"')
        with open(switch, "w", encoding="utf-8"):
            job.quiet("HoldfastExceptions")
        expect(client.call(client.stub.CommitTurn, request) is None, "there is room")
        job.fires("HoldfastExceptions")
        with open(server.log, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log]
        (met,) = [line for line in lines if line["message"] == "exception"]
        expect(met["problem"] == "std::bad_alloc", met)
        os.remove(switch)
        expect(client.call(client.stub.CommitTurn, request), "the same request does not act")
        job.over("HoldfastExceptions")
        prometheus.forget("no-room")


CAUSES = (
    configuration,
    servers_restart,
    disk_fills,
    collector_away,
    watch_unread,
    log_unread,
    holders_gone,
    damage,
    no_room,
)
