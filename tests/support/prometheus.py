"""Debian's Prometheus, which a test runs and asks."""
import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from programs import WAIT_SECONDS, Failed, free_port, wait_for


def fetch(address):
    """The text that is served at `address`."""
    with urllib.request.urlopen(address, timeout=WAIT_SECONDS) as answer:
        return answer.read().decode()


class Prometheus:
    """Keeps its files in `folder`, and its address from the beginning."""

    def __init__(self, folder):
        self.folder, self.address, self.process = folder, f"127.0.0.1:{free_port()}", None

    def start(self, config):
        """Serves with the configuration, and is ready."""
        path = os.path.join(self.folder, "prometheus.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)  # which is YAML too
        with open(os.path.join(self.folder, "prometheus.log"), "wb") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={path}",
                    f"--storage.tsdb.path={self.folder}/tsdb",
                    f"--web.listen-address={self.address}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        wait_for("Prometheus", self._ready)
        return self

    def _ready(self):
        try:
            return bool(fetch(f"http://{self.address}/-/ready"))
        except (urllib.error.URLError, ConnectionError):  # while it starts it answers 503
            return False

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(WAIT_SECONDS)

    def ask(self, path, **parameters):
        """The data that it answers with; Failed, with its own words, where it refuses."""
        words = urllib.parse.urlencode(parameters)
        try:
            return json.loads(fetch(f"http://{self.address}/api/v1/{path}?{words}"))["data"]
        except urllib.error.HTTPError as error:
            raise Failed(f"{parameters}: {error.read().decode()}") from error

    def query(self, text):
        """The samples of an expression, now."""
        return self.ask("query", query=text)["result"]
