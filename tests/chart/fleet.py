"""Servers of the chart over one PostgreSQL, which are replaced one after the other as a Deployment
replaces its pods."""
import contextlib
import os
import socket
import tempfile
import time

import serving
import tools
from programs import PRESENT, Folder, Postgres, expect, wait_for

VALUES = [
    "probes.kind=exec",
    "store.kind=postgres",
    "cloudnativepg.enabled=true",
    "store.postgres.user=app",
    "store.postgres.password.existingSecret=serving",
]


class Place:
    """An address for one server after the other. It is bound and never listens, so that no other
    program takes the port meanwhile."""

    def __init__(self):
        self.held = socket.socket()
        self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.held.getsockname()[1]}"
        self.pod = None


class Fleet:
    """Servers at one place more than there are servers. The first place is free."""

    def __init__(self, found, objects, database, stack):
        self.found, self.objects, self.database, self.stack = found, objects, database, stack
        self.places = []
        self.longest = 0.0
        self.database_name = cluster_of(objects)["spec"]["bootstrap"]["initdb"]["database"]

    def addresses(self):
        return [place.address for place in self.places]

    def sql(self, statement):
        """As a superuser, in the store's database."""
        return self.database.sql(self.database_name, statement)

    def make_pod(self, place, program):
        folder = tempfile.TemporaryDirectory(prefix="holdfast fleet ")
        replaced = {
            "0.0.0.0:7420": place.address,
            "host='demo-holdfast-db-rw'": f"host='{self.database.folder}'",
            "sslmode='verify-full'": "sslmode='disable'",
        }
        name = self.stack.enter_context(folder)
        pod = serving.Pod(self.found, self.objects, name, replaced)
        pod.wrap = lambda words: [*program, *words]
        return pod

    def migrate(self, program=PRESENT):
        """Runs the init container of a pod to its end; what it said."""
        code, said = self.make_pod(self.places[0], program).run_to_end("migrate")
        expect(code == 0, f"the migration ends with {code}: {said}")
        return said

    def start_all(self, servers, program=PRESENT):
        self.places = [Place() for _ in range(servers + 1)]
        self.migrate(program)
        for place in self.places[1:]:
            self.start(place, program)

    def start(self, place, program=PRESENT):
        place.pod = self.make_pod(place, program)
        self.stack.callback(place.pod.end)
        place.pod.start()
        wait_for("the new server's readiness", lambda: place.pod.probe("readiness")[0] == 0)

    def replace(self, program=PRESENT):
        """A pod at the free place runs its init container and serves; then the oldest one has its
        preStop hook, SIGTERM and its grace period."""
        oldest = self._start_another(program)
        began = time.monotonic()
        hook = oldest.pod.container("holdfastd")["lifecycle"]["preStop"]["sleep"]["seconds"]
        time.sleep(hook)  # the hook's own act
        code = oldest.pod.stop()
        expect(code == 0, f"a server ended with {code}")
        self.longest = max(self.longest, time.monotonic() - began)

    def replace_killed(self):
        """The same, but that the oldest one is killed at once."""
        self._start_another(PRESENT).pod.end()

    def _start_another(self, program):
        free, oldest, *others = self.places
        self.migrate(program)
        self.start(free, program)
        self.places = [oldest, *others, free]
        return oldest

    def longest_end(self):
        grace = self.places[1].pod.spec["terminationGracePeriodSeconds"]
        return f"the longest end took {self.longest:.1f} s of {grace} s"


def cluster_of(objects):
    (cluster,) = [made for made in objects if made["kind"] == "Cluster"]
    return cluster


@contextlib.contextmanager
def fleet_over_postgres(found):
    """A fleet without servers, over a PostgreSQL as CloudNativePG sets it up."""
    more = [word for value in VALUES for word in ("--set", value)]
    objects = tools.load_all(found.template(4, [], more=more))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(Folder())
        database = stack.enter_context(Postgres(os.path.join(folder, "db"))).start()
        serving.set_up(database, cluster_of(objects))
        yield Fleet(found, objects, database, stack)
