"""What the causes are made with: a Prometheus that knows the rules, servers, and their clients."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import uuid

import promtool
from programs import WAIT_SECONDS, Failed, Serving, wait_for

# Windows and `for` are divided by this, and so is the interval between scrapes. The expressions and
# their thresholds are as they are.
FACTOR = 60
SCRAPE = "1s"
WINDOW = re.compile(r"\[(\d+[smhd])\]")
FIRES_SECONDS, OVER_SECONDS = 240, 600
QUIET = "4s"  # longer than what lies between two evaluations
CALL_SECONDS, PAUSE_SECONDS = 12, 0.2


def quickened(duration):
    return f"{round(promtool.minutes(duration) * 60000 / FACTOR)}ms"


def quickened_rules(path):
    """The groups of a file with their times divided."""
    rules = promtool.rules_in(path)
    for rule in rules:
        rule["expr"] = WINDOW.sub(lambda found: f"[{quickened(found[1])}]", rule["expr"])
        if "for" in rule:
            rule["for"] = quickened(rule["for"])
    return {"groups": [{"name": os.path.basename(path), "rules": rules}]}


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Prometheus:
    """Scrapes what `watch` names, each under a job of its own, and evaluates the rules."""

    def __init__(self, folder):
        self.targets = os.path.join(folder, "targets.json")
        self.jobs, self.lock = {}, threading.Lock()
        self.base = f"http://127.0.0.1:{free_port()}"
        self.process, self.folder = None, folder

    def __enter__(self):
        self._write_targets()
        for path in (promtool.RULES, promtool.ALERTS):
            promtool.write(
                os.path.join(self.folder, os.path.basename(path)), quickened_rules(path)
            )
        config = os.path.join(self.folder, "prometheus.yaml")
        promtool.write(
            config,
            {
                "global": {
                    "scrape_interval": SCRAPE,
                    "scrape_timeout": SCRAPE,
                    "evaluation_interval": SCRAPE,
                },
                "rule_files": [os.path.basename(promtool.RULES), os.path.basename(promtool.ALERTS)],
                "scrape_configs": [
                    {"job_name": "all", "file_sd_configs": [{"files": [self.targets]}]}
                ],
            },
        )
        with open(os.path.join(self.folder, "prometheus.log"), "wb") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={self.folder}/tsdb",
                    f"--web.listen-address={self.base.removeprefix('http://')}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for("Prometheus", lambda: self.get("/-/ready"))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(WAIT_SECONDS)

    def get(self, path):
        """The answer's text; empty while there is none."""
        try:
            with urllib.request.urlopen(self.base + path, timeout=30) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return ""

    def query(self, text):
        answer = self.get("/api/v1/query?query=" + urllib.parse.quote(text))
        return json.loads(answer)["data"]["result"] if answer else []

    def _write_targets(self):
        made = [
            {"targets": targets, "labels": {"job": job}} for job, targets in self.jobs.items()
        ]
        promtool.write(self.targets + ".new", made)
        os.replace(self.targets + ".new", self.targets)

    def watch(self, job, servers):
        with self.lock:
            self.jobs[job] = [f"127.0.0.1:{server.metrics}" for server in servers]
            self._write_targets()
        wait_for(f"scrapes of {job}", lambda: self.query(f'up{{job="{job}"}} == 1'))

    def forget(self, job):
        with self.lock:
            self.jobs.pop(job, None)
            self._write_targets()

    def firing(self, alert, job):
        labels = {"alertname": alert, "job": job, "alertstate": "firing"}
        return self.query(promtool.selector("ALERTS", labels))

    def annotations(self, alert, job):
        """Those of an active alert."""
        for found in json.loads(self.get("/api/v1/alerts"))["data"]["alerts"]:
            if found["labels"]["alertname"] == alert and found["labels"].get("job") == job:
                return found["annotations"]
        return {}


class Job:
    """Servers of one store, and what their alerts were seen to do."""

    def __init__(self, prometheus, name, servers, seen):
        self.prometheus, self.name, self.servers, self.seen = prometheus, name, servers, seen
        prometheus.watch(name, servers)

    def quiet(self, *alerts):
        """None of them fires without its cause."""
        for alert in alerts:
            if self.prometheus.firing(alert, self.name):
                raise Failed(f"{self.name}: {alert} fires without its cause")

    def fires(self, *alerts, seconds=FIRES_SECONDS):
        began = time.monotonic()
        for alert in alerts:
            wait_for(
                f"{alert} of {self.name}",
                lambda alert=alert: self.prometheus.firing(alert, self.name),
                seconds,
            )
            notes = self.prometheus.annotations(alert, self.name)
            if not notes or "error expanding" in str(notes) or "<no value>" in str(notes):
                raise Failed(f"{alert}: {notes}")
            self.seen[alert] = [round(time.monotonic() - began), None]
            print(f"{self.name}: {alert} after {self.seen[alert][0]} s: {notes['description']}")

    def over(self, *alerts, seconds=OVER_SECONDS):
        """A server is scraped, and for some seconds the alert was neither pending nor firing."""
        began = time.monotonic()

        def quiet(alert):
            active = promtool.selector("ALERTS", {"alertname": alert, "job": self.name})
            scraped = self.prometheus.query(f'up{{job="{self.name}"}} == 1')
            return scraped and not self.prometheus.query(f"max_over_time({active}[{QUIET}])")

        for alert in alerts:
            wait_for(
                f"the end of {alert} of {self.name}", lambda alert=alert: quiet(alert), seconds
            )
            self.seen[alert][1] = round(time.monotonic() - began)
            print(f"{self.name}: {alert} is over after {self.seen[alert][1]} s")


class Holdfastd:
    """A server with fixed ports. `sections` are those of its configuration, without the ports."""

    def __init__(self, build, folder, name, store, **sections):
        self.program = os.path.join(build, "bin", "holdfastd")
        self.log = os.path.join(folder, f"{name}.log")
        self.config = os.path.join(folder, f"{name}.yaml")
        self.port, self.metrics = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.sections = {"stores": [{"name": name, "active": True, **store}], **sections}
        self.serving = None

    def start(self):
        told = json.loads(json.dumps(self.sections))
        told.setdefault("server", {})["address"] = self.address
        told.setdefault("telemetry", {})["metrics_address"] = f"127.0.0.1:{self.metrics}"
        promtool.write(self.config, told)
        self.serving = Serving([self.program, "--config", self.config], self.log)
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()

    def stop(self):
        return self.serving.stop()

    def kill(self):
        if self.serving is not None:
            self.serving.kill()


class Client:
    """Calls of one channel; a refusal is an answer."""

    def __init__(self, address, seconds=CALL_SECONDS):
        import grpc
        from holdfast.v1 import admin_service_pb2_grpc, session_service_pb2_grpc

        self.channel = grpc.insecure_channel(
            address, [("grpc.enable_retries", 0), ("grpc.max_reconnect_backoff_ms", 200)]
        )
        self.refused, self.seconds = grpc.RpcError, seconds
        self.stub = session_service_pb2_grpc.SessionServiceStub(self.channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self.channel)

    def call(self, method, request):
        """The reply, or None of a call that was refused."""
        try:
            return method(request, timeout=self.seconds)
        except self.refused:
            return None

    def create(self, session, ttl=60):
        from google.protobuf.duration_pb2 import Duration
        from holdfast.v1 import session_pb2, session_service_pb2

        request = session_service_pb2.CreateSessionRequest(
            request_id=str(uuid.uuid4()),
            session_id=session,
            holder="test",
            lease_ttl=Duration(seconds=ttl),
            manifest=session_pb2.Manifest(mode=session_pb2.MODE_ASK, project_root="/project"),
        )
        reply = self.call(self.stub.CreateSession, request)
        return reply and reply.lease_token

    def begin(self, session, token):
        from holdfast.v1 import session_pb2, turns_pb2

        request = turns_pb2.BeginTurnRequest(
            request_id=str(uuid.uuid4()),
            session_id=session,
            lease_token=token,
            source=session_pb2.TURN_SOURCE_USER,
        )
        return self.call(self.stub.BeginTurn, request)

    def commit(self, session, token, turn):
        from holdfast.v1 import session_pb2, turns_pb2

        request = turns_pb2.CommitTurnRequest(
            request_id=str(uuid.uuid4()),
            session_id=session,
            lease_token=token,
            turn=turn,
            outcome=session_pb2.TURN_OUTCOME_OK,
            messages=[session_pb2.Message(role="user", data=b'"' + b"x" * 4000 + b'"')],
        )
        return self.call(self.stub.CommitTurn, request)

    def get(self, session):
        from holdfast.v1 import session_service_pb2

        request = session_service_pb2.GetSessionRequest(session_id=session)
        return self.call(self.stub.GetSession, request)

    def take_turns(self, session, stop, pause):
        """Turn after turn, whatever is refused, until `stop` is set."""
        token = None
        while not stop.is_set():
            token = token or self.create(session, 3600)
            begun = token and self.begin(session, token)
            if begun:
                while not stop.is_set() and not self.commit(session, token, begun.turn):
                    stop.wait(pause)
            stop.wait(pause)


class Agents:
    """Clients that take turns, each in a session of its own, until the end."""

    def __init__(self, address, count, seconds=CALL_SECONDS):
        self.stop = threading.Event()
        self.sessions = [f"agent-{number}" for number in range(count)]
        self.threads = [
            threading.Thread(
                target=Client(address, seconds).take_turns, args=(session, self.stop, PAUSE_SECONDS)
            )
            for session in self.sessions
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def generate_stubs(folder):
    """The stubs of the API, for Python."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.join(here, "..", "docs"))
    import examples

    examples.generate_python(folder)
    sys.path.insert(0, folder)
