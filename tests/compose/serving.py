"""What deploy/compose starts, started here without containers: PostgreSQL, roles.sql, the
migration, both servers, Prometheus and a receiver in Tempo's place, by the names and ports, with
the files, the environment and the users that Compose would give them.

It runs in a network and a mount namespace of its own, where /etc/hosts has the services' names.
Each server has one more network, because both listen at the same port. A test build serves its own
machine alone, so the one thing that differs is `server.address`: 127.0.0.1 of the server's network,
where its clients are too.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

from programs import CONVERSATION, ROOT, Failed, Folder, Postgres, done, expect, run, wait_for
from rules import binds, source_of
from tools import copy_into, example_variables, install, load, read

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = {"holdfast-a": 1, "holdfast-b": 2}  # service -> number of its network
CENTRE = "10.89.1.1"  # where everything else is
PLACES = {"postgres": CENTRE, "tempo": CENTRE, "prometheus": CENTRE}
EVERY, OWN = "address: 0.0.0.0:7420", "address: 127.0.0.1:7420"
LINES = 20  # of a log, when something is wrong
COLLECTOR = os.path.join(ROOT, "tests", "grafana", "collector.py")
# Passwords count over TCP, as in the image of PostgreSQL.
ACCESS = "local all all trust\nhost all all all scram-sha-256\n"


def check(build):
    """In namespaces of its own: this program once more."""
    done([os.path.join(ROOT, "scripts", "deps"), "metrics"], seconds=600)
    install(build)  # inside there is no network to download it by
    again = [sys.executable, os.path.join(HERE, "run.py"), "InNamespaces", build]
    rights = [] if os.geteuid() == 0 else ["sudo"]
    command = [*rights, "unshare", "--net", "--mount", "--propagation", "private", *again]
    ended = subprocess.run(command, check=False)
    expect(ended.returncode == 0, f"what Compose starts does not serve: {ended.returncode}")


class Place:
    """The services with their files in a folder that every user may read."""

    def __init__(self, build, folder, stack):
        self.folder, self.stack = folder, stack
        self.copies = {}  # of a file -> its copy
        self.found = load(build, example_variables())["services"]
        self.programs = os.path.join(folder, "bin")
        os.mkdir(self.programs)
        for name in ("holdfastd", "holdfast"):
            shutil.copy(os.path.join(build, "bin", name), self.programs)

    def file(self, service, target):
        """A copy of what the service sees at `target`. Made once: a server may be reading it."""
        source = source_of(self.found[service], target)
        if source not in self.copies:
            self.copies[source] = self.copied(source, target)
        return self.copies[source]

    def copied(self, source, target):
        copy = copy_into(self.folder, source)
        if target.endswith("/holdfastd.yaml"):
            config = read(copy)
            expect(EVERY in config, f"{copy} does not listen as it is expected to")
            with open(copy, "w", encoding="utf-8") as file:
                file.write(config.replace(EVERY, OWN))
        return copy

    def seen(self, service, word):
        """The word of a command or a variable, with the copy of a file in the file's place."""
        mounted = {volume["target"] for volume in binds(self.found[service])}
        return self.file(service, word) if word in mounted else word

    def command(self, service, words):
        """`words`, run as the service's user with its environment alone."""
        environment = self.found[service]["environment"]
        variables = [f"{key}={self.seen(service, value)}" for key, value in environment.items()]
        user, group = self.found[service]["user"].split(":")
        inside = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        inside += ["--no-new-privs", "env", "-i", f"PATH={self.programs}", *variables]
        if service in SERVERS:
            inside = ["ip", "netns", "exec", service, *inside]
        return [*inside, *(self.seen(service, word) for word in words)]

    def start(self, command, log):
        with open(os.path.join(self.folder, log), "wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        self.stack.callback(process.wait, 60)
        self.stack.callback(process.terminate)
        return process


def lay_network(folder):
    """One network for each server, joined to this one."""
    ip = ["/usr/sbin/ip"]
    done([*ip, "link", "set", "lo", "up"])
    os.makedirs("/run/netns", exist_ok=True)
    done(["mount", "-t", "tmpfs", "none", "/run/netns"])
    for name, number in SERVERS.items():
        ends = (f"10.89.{number}.1", f"10.89.{number}.2")
        PLACES[name] = ends[1]
        done([*ip, "netns", "add", name])
        pair = ["link", "add", f"out{number}", "type", "veth", "peer", "name", "in", "netns", name]
        done([*ip, *pair])
        done([*ip, "address", "add", f"{ends[0]}/30", "dev", f"out{number}"])
        done([*ip, "link", "set", f"out{number}", "up"])
        for words in (
            ["address", "add", f"{ends[1]}/30", "dev", "in"],
            ["link", "set", "in", "up"],
            ["link", "set", "lo", "up"],
            ["route", "add", "default", "via", ends[0]],
        ):
            done([*ip, "-n", name, *words])
    hosts = [f"{address} {name}\n" for name, address in PLACES.items()]
    # No name server: a question to one ends at once, and not with a time limit.
    for name, lines in (("hosts", hosts), ("resolv.conf", ["nameserver 127.0.0.1\n"])):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        os.chmod(path, 0o644)
        done(["mount", "--bind", path, f"/etc/{name}"])


def serve_database(place):
    """PostgreSQL 15, and what its image does with roles.sql."""
    path = os.path.join(place.folder, "postgres")
    os.mkdir(path)
    access = os.path.join(place.folder, "access")
    with open(access, "w", encoding="utf-8") as file:
        file.write(ACCESS)
    os.chmod(access, 0o644)
    postgres = place.stack.enter_context(Postgres(path))
    postgres.start(f"listen_addresses={CENTRE}", "port=5432", f"hba_file={access}")
    roles = place.file("postgres", "/docker-entrypoint-initdb.d/roles.sql")
    environment = os.environ | place.found["postgres"]["environment"]
    client = ["psql", "--no-psqlrc", "--quiet", "--dbname", postgres.dsn("postgres")]
    done([*client, "--set", "ON_ERROR_STOP=1", "--file", roles], env=environment)
    return postgres


def migrate(place):
    service = place.found["migrate"]
    print(done(place.command("migrate", ["holdfastd", *service["command"]])), end="")
    print(done(place.command("migrate", ["holdfastd", *service["command"], "--status"])), end="")


def serve(place):
    for name in SERVERS:
        place.start(place.command(name, ["holdfastd"]), f"{name}.log")
    for name in SERVERS:
        kind, *test = place.found[name]["healthcheck"]["test"]
        expect(kind == "CMD", f"the health check of {name} needs a shell")
        asked = place.command(name, test)
        wait_for(f"{name} is healthy", lambda asked=asked: run(asked).returncode == 0, 60)


def replay(place):
    """Over one server, compared over the other one."""
    client = [os.path.join(place.programs, "holdfast"), "--address", "127.0.0.1:7420"]
    words = ["replay", "--run", "compose", CONVERSATION]
    inside = ["ip", "netns", "exec"]
    done([*inside, "holdfast-a", *client, *words, "--verify"])
    print(done([*inside, "holdfast-b", *client, *words, "--verify-only"]), end="")


def ask(text):
    """What Prometheus answers, nothing while it does not."""
    address = f"http://prometheus:9090/api/v1/query?query={urllib.request.quote(text)}"
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.loads(answer.read())["data"]["result"]
    return []


def watch(place):
    """Prometheus with its own configuration scrapes both, and spans came through."""
    config = place.file("prometheus", "/etc/prometheus/prometheus.yaml")
    for name in ("rules.yaml", "alerts.yaml"):
        place.file("prometheus", f"/etc/prometheus/{name}")
    arguments = [f"--config.file={config}", f"--storage.tsdb.path={place.folder}/tsdb"]
    place.start(["prometheus", *arguments], "prometheus.log")
    for text in (
        'count(up{job="holdfast"} == 1) == 2',
        'count(holdfast_store_healthy{job="holdfast"} == 1) == 2',
        'sum(holdfast_spans_total{job="holdfast",outcome="exported"}) > 0',
        'sum(holdfast_postgres_serving_servers) > 0',
    ):
        wait_for(text, lambda text=text: ask(text), 40)


def logs(folder):
    """The last lines of what was started."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".log") and os.path.isfile(os.path.join(folder, name)):
            lines = read(os.path.join(folder, name)).splitlines()[-LINES:]
            found += [f"{name}: {line}" for line in lines]
    return "\n".join(found)


def check_inside(build):
    with Folder() as folder, contextlib.ExitStack() as stack:
        place = Place(build, folder, stack)
        lay_network(folder)
        postgres = serve_database(place)
        place.start([sys.executable, COLLECTOR, f"{CENTRE}:4317"], "collector.log")
        try:
            migrate(place)
            serve(place)
            replay(place)
            watch(place)
        except Failed as failed:
            raise Failed(f"{failed}\n{logs(folder)}") from failed
        for role, rights in (("holdfast_app", "f"), ("holdfast_owner", "t")):
            right = f"SELECT has_schema_privilege('{role}', 'holdfast', 'CREATE')"
            expect(postgres.sql("holdfast", right) == rights, f"CREATE of {role} is not {rights}")
        print(f"compose: two servers of deploy/compose served, were scraped and sent spans")
