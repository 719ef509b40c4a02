"""Causes of alerts of servers over PostgreSQL: each is made, the alert fires, and the steps of
docs/runbooks.md end it."""
import contextlib
import os
import subprocess

from clients import Agents, Client
from programs import FORMER, PRESENT, ROOT, Postgres, done, expect, wait_for
from stage import Holdfastd, Job

AVAILABILITY = ["HoldfastAvailabilityBurnsFast", "HoldfastAvailabilityBurnsSlowly"]
LATENCY = ["HoldfastLatencyBurnsFast", "HoldfastLatencyBurnsSlowly"]


def migrate(build, folder, dsn, program=PRESENT):
    environment = {**os.environ, "HOLDFAST_POSTGRES_DSN": dsn}
    command = [*program, os.path.join(build, "bin", "holdfastd"), "migrate"]
    done(command, env=environment, cwd=folder)


@contextlib.contextmanager
def database(build, folder, name, program=PRESENT):
    """A cluster of its own with a database of that name, migrated by the program."""
    with Postgres(os.path.join(folder, name)) as cluster:
        cluster.start()
        cluster.sql("postgres", f"CREATE DATABASE {name}")
        migrate(build, folder, cluster.dsn(name), program)
        yield cluster


def server_of(build, folder, cluster, name, user=None, **more):
    dsn = cluster.dsn(more.pop("database", name))
    if user:
        dsn = dsn.replace("user=holdfast", f"user={user}")
    store = {"kind": "postgres", "dsn": dsn, **more.pop("store", {})}
    return Holdfastd(build, folder, f"{name}-{user or 'server'}", store, **more)


def database_away(build, folder, prometheus, seen):
    """PostgreSQL is stopped under a server, and started again."""
    alerts = ["HoldfastStoreAway", *AVAILABILITY]
    with database(build, folder, "away") as cluster:
        recovery = {"sweep_interval": "1s"}
        with server_of(build, folder, cluster, "away", recovery=recovery) as server:
            job = Job(prometheus, "away", [server], seen)
            with Agents(server.address, 4):
                wait_for("traffic", lambda: Client(server.address).get("agent-0"))
                job.quiet(*alerts)
                cluster.stop()
                job.fires(*alerts, "HoldfastSweepsFail")
                job.quiet("HoldfastPoolExhausted")
                cluster.start()
                job.over("HoldfastStoreAway", "HoldfastSweepsFail", *AVAILABILITY)
            prometheus.forget("away")


def role_refused(build, folder, prometheus, seen):
    """The role of one of two servers may not connect any more."""
    with database(build, folder, "roles") as cluster:
        for role in ("one", "two"):
            cluster.sql("roles", f"CREATE ROLE {role} LOGIN SUPERUSER")
        with contextlib.ExitStack() as stack:
            servers = [
                stack.enter_context(server_of(build, folder, cluster, "roles", role))
                for role in ("one", "two")
            ]
            job = Job(prometheus, "roles", servers, seen)
            job.quiet("HoldfastServerNotRegistered")
            cluster.sql("roles", "ALTER ROLE one NOLOGIN")
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'one'"
            cluster.sql("roles", ended)
            job.fires("HoldfastServerNotRegistered")
            cluster.sql("roles", "ALTER ROLE one LOGIN")
            job.over("HoldfastServerNotRegistered")
            prometheus.forget("roles")


class RowLock:
    """A program that holds the lock of the rows of sessions."""

    def __init__(self, cluster, name, sessions):
        command = ["psql", "--no-psqlrc", "--quiet", "--dbname", cluster.dsn(name)]
        names = ", ".join(f"'{session}'" for session in sessions)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.process.stdin.write(
            "BEGIN; SELECT count(*) FROM (SELECT FROM holdfast.session "
            f"WHERE session_id IN ({names}) FOR UPDATE) AS locked;\n"
        )
        self.process.stdin.flush()
        self.cluster, self.name = cluster, name
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        wait_for("the lock", lambda: cluster.sql(name, waiting) != "0")

    def end_by_runbook(self):
        """Ends the backends that block others, as pg_blocking_pids() names them."""
        blockers = (
            "SELECT pg_terminate_backend(pid) FROM (SELECT DISTINCT unnest(pg_blocking_pids(pid)) "
            "AS pid FROM pg_stat_activity WHERE backend_type = 'client backend') AS blocking "
            "WHERE pid NOT IN (SELECT pid FROM pg_stat_activity "
            "WHERE application_name LIKE 'holdfastd%')"
        )
        wait_for("the blocker", lambda: "t" in self.cluster.sql(self.name, blockers))
        self.process.stdin.close()
        self.process.wait(60)


def rows_locked(build, folder, prometheus, seen):
    """Another program holds the locks of sessions: their calls wait for it, and other calls for the
    pool and for a worker."""
    alerts = ["HoldfastPoolWaits", "HoldfastPoolExhausted", "HoldfastQueueStalled"]
    sections = {"store": {"connections": 2}, "server": {"workers": 4}}
    calls_meet_locks(build, folder, (prometheus, seen), "locks", alerts, sections)


def queue_full(build, folder, prometheus, seen):
    """The same, where few calls may wait: the others are refused."""
    alerts = ["HoldfastOverloaded", "HoldfastLimitNear"]
    sections = {"server": {"workers": 4}, "limits": {"queued_calls": 8}}
    calls_meet_locks(build, folder, (prometheus, seen), "queue", alerts, sections)


def calls_meet_locks(build, folder, scraped, name, alerts, sections):
    prometheus, seen = scraped
    with database(build, folder, name) as cluster:
        with server_of(build, folder, cluster, name, **sections) as server:
            job = Job(prometheus, name, [server], seen)
            with Agents(server.address, 24, seconds=30) as agents:
                client = Client(server.address)
                wait_for("traffic", lambda: all(client.get(agent) for agent in agents.sessions))
                job.quiet(*alerts)
                lock = RowLock(cluster, name, agents.sessions)
                job.fires(*alerts)
                lock.end_by_runbook()
                job.over(*alerts)
            prometheus.forget(name)


def standby_silent(build, folder, prometheus, seen):
    """Commits wait for a standby that does not answer."""
    with database(build, folder, "standby") as cluster:
        with server_of(build, folder, cluster, "standby") as server:
            job = Job(prometheus, "standby", [server], seen)
            with Agents(server.address, 8):
                client = Client(server.address)
                wait_for("traffic", lambda: client.get("agent-7"))
                job.quiet(*LATENCY)
                cluster.sql("standby", "ALTER SYSTEM SET synchronous_standby_names = 'silent'")
                cluster.sql("standby", "SELECT pg_reload_conf()")
                job.fires(*LATENCY)
                waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                expect(cluster.sql("standby", waits) != "0", "no backend waits for the standby")
                cluster.sql("standby", "ALTER SYSTEM RESET synchronous_standby_names")
                cluster.sql("standby", "SELECT pg_reload_conf()")
                job.over(*LATENCY)
            prometheus.forget("standby")


class Promoted(Postgres):
    """A copy of a cluster that became a primary of its own."""

    def __init__(self, folder, original):
        super().__init__(folder)
        done([os.path.join(ROOT, "scripts", "postgres"), "copy", original.folder, folder])


def old_primary(build, folder, prometheus, seen):
    """A standby is promoted, and one of two servers goes on with the old primary."""
    alerts = ["HoldfastFailover", "HoldfastOldTimeline"]
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(database(build, folder, "old"))
        standby = stack.enter_context(Promoted(os.path.join(folder, "new"), cluster)).start()
        left = stack.enter_context(server_of(build, folder, cluster, "old"))
        moved = Holdfastd(
            build, folder, "moved", {"kind": "postgres", "dsn": cluster.dsn("old")}
        )
        stack.enter_context(moved)
        job = Job(prometheus, "old", [left, moved], seen)
        job.quiet(*alerts)
        standby.sql("old", "SELECT pg_promote()")
        moved.stop()
        moved.sections["stores"][0]["dsn"] = standby.dsn("old")
        moved.start()
        job.fires(*alerts)
        left.stop()  # what uses the old primary ends, and so does that
        cluster.stop()
        left.sections["stores"][0]["dsn"] = standby.dsn("old")
        left.start()
        job.over(*alerts)
        prometheus.forget("old")


def upgrade_half_done(build, folder, prometheus, seen):
    """The present program takes a step of the schema, and two servers of the former one go on."""
    alert = "HoldfastSchemaAhead"
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(database(build, folder, "half", FORMER))
        servers = [
            server_of(build, folder, cluster, name, database="half") for name in ("one", "two")
        ]
        for server in servers:
            server.program = FORMER
            stack.enter_context(server)
        job = Job(prometheus, "half", servers, seen)
        job.quiet(alert)
        migrate(build, folder, cluster.dsn("half"))
        job.fires(alert)
        for server in servers:  # one after the other
            expect(prometheus.firing(alert, "half"), "a server is behind, and the alert is over")
            server.stop()
            server.program = PRESENT
            server.start()
        job.over(alert)
        prometheus.forget("half")


CAUSES = (
    rows_locked,
    queue_full,
    database_away,
    standby_silent,
    role_refused,
    upgrade_half_done,
    old_primary,
)
