"""Backup and restore of a store in PostgreSQL by deploy/backup/postgres.py, under traffic over two
servers."""
import contextlib
import os
import shutil
import signal
import time

from programs import CONVERSATION, ROOT, Folder, Postgres, Server, done, expect
from traffic import Traffic, expect_restored, reason, within_objective

DATABASE = "holdfast"
TAKEN = "greenhouse-taken"
SCRIPT_SECONDS = 3600
REFUSED = "copied or restored from a backup of another cluster"


class Scene:
    """A folder that PostgreSQL's user may enter, with the scripts and holdfastd in it."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.programs = os.path.join(folder, "bin")
        self.scripts = os.path.join(folder, "backup")
        shutil.copytree(os.path.join(ROOT, "deploy", "backup"), self.scripts)
        os.mkdir(self.programs)
        shutil.copy(os.path.join(build, "bin", "holdfastd"), self.programs)
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        if os.geteuid() != 0:
            self.user = []

    def directory(self, name):
        """A new one of PostgreSQL's user."""
        path = os.path.join(self.folder, name)
        os.mkdir(path, 0o700)
        if self.user:
            shutil.chown(path, "postgres", "postgres")
        return path

    def script(self, *words):
        """What postgres.py says, run by PostgreSQL's user and Debian's interpreter."""
        path = os.path.join(self.scripts, "postgres.py")
        command = self.user + ["/usr/bin/python3", path, *words]
        return done(command, cwd="/", seconds=SCRIPT_SECONDS)

    def server(self, name, postgres):
        return Server(self.build, self.folder, name, dsn=postgres.dsn(DATABASE))

    def holdfastd(self, postgres, *words):
        environment = os.environ | {"HOLDFAST_POSTGRES_DSN": postgres.dsn(DATABASE)}
        done([os.path.join(self.programs, "holdfastd"), *words], env=environment)


def lose_everything(scene, command):
    """Traffic over two servers, a backup by `command` meanwhile, and then the end of servers and
    cluster. The backup, what was acknowledged before it, the traffic, and a late token."""
    backup = os.path.join(scene.directory("backups"), "backup")
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(Postgres(scene.directory("primary"))).start()
        primary.sql("postgres", f"CREATE DATABASE {DATABASE}")
        scene.holdfastd(primary, "migrate")
        servers = [
            stack.enter_context(scene.server(name, primary)).start() for name in ("one", "two")
        ]
        addresses = [server.address for server in servers]
        traffic = stack.enter_context(Traffic(servers[0].cli, scene.folder))
        done([servers[0].cli, "--address", addresses[0], "replay", "--run", "taken", CONVERSATION])
        traffic.start(addresses)
        traffic.await_acknowledged(100)
        before = traffic.acknowledged()
        print(scene.script(command, backup, "--dsn", primary.dsn(DATABASE)), end="")
        traffic.await_acknowledged(10)
        token = servers[1].answer("session", "resume", TAKEN)["lease_token"]
        for server in servers:
            server.kill()
        primary.stop(signal.SIGQUIT)
    shutil.rmtree(primary.folder)
    return backup, before, traffic, token


def expect_good(server, before, traffic, token):
    """The restored store, served."""
    expect(server.answer("health")["incarnation"] == "2", "adopting raises the incarnation")
    behind = expect_restored(server, before, traffic.acknowledged())
    expect(behind > 0, "no session lost anything: the drill shows nothing")
    ahead = server.client("--output", "json", "session", "close", TAKEN, "--token", token)
    expect(reason(ahead) == "REVISION_AHEAD", ahead.stdout)
    traffic.finish([server.address])
    print(f"{len(before)} sessions restored, {behind} of them behind what clients know")
    expect(server.stop() == 0, "the server does not end in order")


def check_dump(build):
    """A logical copy in another cluster is refused until it is adopted."""
    with Folder() as folder:
        scene = Scene(build, folder)
        backup, before, traffic, token = lose_everything(scene, "dump")
        with Postgres(scene.directory("second")) as second:
            second.start()
            began = time.monotonic()
            second.sql("postgres", f"CREATE DATABASE {DATABASE}")
            print(scene.script("restore-dump", backup, "--dsn", second.dsn(DATABASE)), end="")
            with scene.server("three", second) as server:
                server.expect_refused(REFUSED)
                scene.holdfastd(second, "store", "adopt")
                server.start()
                within_objective(began)
                expect_good(server, before, traffic, token)


def check_base(build):
    """A physical copy would be served as it is, which is why the script adopts it."""
    with Folder() as folder:
        scene = Scene(build, folder)
        backup, before, traffic, token = lose_everything(scene, "base")
        second = scene.directory("second")
        began = time.monotonic()
        target = os.path.join(second, "data")
        print(scene.script("restore-base", backup, target, "--programs", scene.programs), end="")
        with Postgres(second) as postgres, scene.server("three", postgres.start()) as server:
            server.start()
            within_objective(began)
            expect_good(server, before, traffic, token)
        raw = scene.directory("raw")
        os.rename(os.path.join(backup, "data"), os.path.join(raw, "data"))
        with Postgres(raw) as postgres, scene.server("raw", postgres.start()) as server:
            incarnation = server.start().answer("health")["incarnation"]
            expect(incarnation == "1", f"a copy that was not adopted has incarnation {incarnation}")
