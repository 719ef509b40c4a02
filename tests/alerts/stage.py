"""What the causes are made with: a Prometheus that knows the rules, and servers that it scrapes."""
import json
import os
import re
import threading
import time

import promtool
from programs import PRESENT, Failed, Serving, free_port, wait_for
from prometheus import Prometheus

# Windows and `for` are divided by this, and so is the interval between scrapes. The expressions and
# their thresholds are as they are.
FACTOR = 60
SCRAPE = "1s"
WINDOW = re.compile(r"\[(\d+[smhd])\]")
FIRES_SECONDS, OVER_SECONDS = 240, 600
QUIET = "4s"  # longer than what lies between two evaluations


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


class RuledPrometheus:
    """Scrapes what `watch` names, each under a job of its own, and evaluates the rules."""

    def __init__(self, folder):
        self.targets = os.path.join(folder, "targets.json")
        self.jobs, self.lock = {}, threading.Lock()
        self.prometheus, self.folder = Prometheus(folder), folder

    def __enter__(self):
        self._write_targets()
        for path in (promtool.RULES, promtool.ALERTS):
            promtool.write(
                os.path.join(self.folder, os.path.basename(path)), quickened_rules(path)
            )
        self.prometheus.start(
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
            }
        )
        return self

    def __exit__(self, *_):
        self.prometheus.stop()

    def query(self, text):
        return self.prometheus.query(text)

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
        for found in self.prometheus.ask("alerts")["alerts"]:
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
        self.command = [os.path.join(build, "bin", "holdfastd"), "--config"]
        self.program = PRESENT  # or FORMER
        self.log = os.path.join(folder, f"{name}.log")
        self.config = os.path.join(folder, f"{name}.yaml")
        self.port, self.metrics = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.sections = {"stores": [{"name": name, "active": True, **store}], **sections}
        self.serving = None

    def start(self):
        config = json.loads(json.dumps(self.sections))
        config.setdefault("server", {}).update(address=self.address, echo=True)
        config.setdefault("telemetry", {})["metrics_address"] = f"127.0.0.1:{self.metrics}"
        promtool.write(self.config, config)
        self.serving = Serving([*self.program, *self.command, self.config], self.log)
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
