"""What answers the queries of the dashboards: a server over files, two over a PostgreSQL with a
standby, a collector of spans, and a Prometheus that scrapes the servers each second."""
import os
import subprocess
import sys

from programs import CONVERSATION, ROOT, WAIT_SECONDS, Postgres, Serving
from programs import done, free_port, run, wait_for
from prometheus import Prometheus

DATABASE = "holdfast"
JOBS = {"files": "notes", "one": "team", "two": "team"}  # server -> job: one for each store
STEP_SECONDS = 2
HERE = os.path.dirname(os.path.abspath(__file__))
# Sweeps that come soon, a queue for two connections, and one recorded call a second.
CONFIGURATION = """\
server: {{address: "127.0.0.1:{port}", insecure: true, drain_timeout: 2s}}
stores:
  - {{name: store, active: true, {store}}}
recovery: {{sweep_interval: 1s, abandon_after: 5s, cancel_grace: 1s}}
telemetry:
  metrics_address: "127.0.0.1:{metrics}"
  otlp_endpoint: "http://127.0.0.1:{collector}"
  sampled_roots_per_second: {sampled}
"""


class Scene:
    def __init__(self, build, folder, words):
        """`words` are what spans shall have."""
        self.build, self.folder, self.words = build, folder, words
        self.client_program = os.path.join(build, "bin", "holdfast")
        self.processes, self.servers, self.clients = [], {}, []
        self.prometheus = Prometheus(folder)
        self.ports = {name: (free_port(), free_port()) for name in JOBS}
        self.primary, self.standby = self._postgres("primary"), self._postgres("standby")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.clients + self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(WAIT_SECONDS)
        for server in self.servers.values():
            server.kill()
        self.prometheus.stop()
        for postgres in (self.primary, self.standby):
            postgres.stop()

    def _postgres(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return Postgres(path)

    def start(self):
        self.primary.start()
        self.primary.sql("postgres", f"CREATE DATABASE {DATABASE}")
        self._serve_prometheus()
        self._collect()
        self.dsn = f"host={self.primary.folder},{self.standby.folder} user=holdfast dbname=holdfast"
        environment = os.environ | {"HOLDFAST_POSTGRES_DSN": self.dsn}
        done([os.path.join(self.build, "bin", "holdfastd"), "migrate"], env=environment)
        copied = [os.path.join(ROOT, "scripts", "postgres"), "copy"]
        done([*copied, self.primary.folder, self.standby.folder])
        self.standby.start()
        for name in JOBS:
            self.serve(name)

    def _collect(self):
        command = [sys.executable, os.path.join(HERE, "collector.py"), "127.0.0.1:0"]
        with open(os.path.join(self.folder, "collector"), "w", encoding="utf-8") as said:
            self.processes.append(subprocess.Popen(command + self.words, stdout=said))
        self.collector = int(wait_for("the collector", self.collected)[0])

    def collected(self):
        """The lines of the collector: its port, and the words that spans had."""
        with open(os.path.join(self.folder, "collector"), encoding="utf-8") as said:
            return said.read().split("\n")[:-1]

    def serve(self, name):
        """Starts the server, at the same addresses each time. The one over files sends its spans
        to a port where nothing listens, and may record one call a second."""
        port, metrics = self.ports[name]
        store = f'kind: postgres, dsn: "{self.dsn}", connections: 2'
        if name == "files":
            store = f"kind: fs, root: {self.folder}/root"
        collector = free_port() if name == "files" else self.collector
        config = os.path.join(self.folder, f"{name}.yaml")
        with open(config, "w", encoding="utf-8") as file:
            sampled = 1 if name == "files" else 100
            fields = {"port": port, "metrics": metrics, "collector": collector, "sampled": sampled}
            file.write(CONFIGURATION.format(store=store, **fields))
        holdfastd = os.path.join(self.build, "bin", "holdfastd")
        log = os.path.join(self.folder, f"{name}.log")
        self.servers[name] = Serving([holdfastd, "--config", config], log)

    def _serve_prometheus(self):
        def targets(job):
            return [f"127.0.0.1:{self.ports[name][1]}" for name in JOBS if JOBS[name] == job]

        jobs = [
            {"job_name": job, "static_configs": [{"targets": targets(job)}]}
            for job in sorted(set(JOBS.values()))
        ]
        times = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        self.prometheus.start({"global": times, "scrape_configs": jobs})

    def ask(self, path, **parameters):
        """The series that Prometheus answers with."""
        return self.prometheus.ask(path, **parameters)["result"]

    def client(self, name, *words):
        """The finished `holdfast` with these words, at the server."""
        return run([self.client_program, "--address", self.servers[name].address, *words])

    def background(self, name, *words):
        """A `holdfast` that goes on."""
        process = subprocess.Popen(
            [self.client_program, "--address", self.servers[name].address, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.clients.append(process)
        return process

    def replay(self, name, label, repeat, *more):
        words = ["--parallel", "16", "--repeat", str(repeat), "--run", label, *more, CONVERSATION]
        return self.background(name, "replay", *words)
