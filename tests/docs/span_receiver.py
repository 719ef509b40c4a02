"""A receiver of spans in a process of its own, which knows OpenTelemetry's definitions of the
protocol and not ours."""
import json
import os
import shutil
import subprocess
import threading

import examples

# The package carries the definitions of version 1.7.0 of the protocol.
DEFINITIONS = "dd-trace@5.132.0"
IN_PACKAGE = "package/packages/dd-trace/src/opentelemetry/otlp"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "otlp")


def install(build):
    """The receiver with what it needs; the folder that has it, and that of the definitions."""
    folder = os.path.join(build, "otlp")
    os.makedirs(folder, exist_ok=True)
    for name in ("package.json", "package-lock.json", "receiver.js"):
        shutil.copy(os.path.join(SOURCE, name), folder)
    if not os.path.exists(os.path.join(folder, "node_modules", ".package-lock.json")):
        quiet = ["--no-audit", "--no-fund", "--loglevel", "error"]
        examples.run_again(["npm", "ci", *quiet], cwd=folder)
    definitions = os.path.join(folder, IN_PACKAGE)
    if not os.path.exists(os.path.join(definitions, "trace.proto")):
        examples.run_again(["npm", "pack", DEFINITIONS, "--silent"], cwd=folder)
        archive = DEFINITIONS.replace("@", "-") + ".tgz"
        examples.run(["tar", "-xzf", archive, IN_PACKAGE], cwd=folder)
    return folder, definitions


class SpanReceiver:
    """Runs from its construction to its end as a context."""

    def __init__(self, build):
        folder, definitions = install(build)
        self.process = subprocess.Popen(
            ["node", os.path.join(folder, "receiver.js"), definitions],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.endpoint = f"http://127.0.0.1:{self.process.stdout.readline().strip()}"
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.reader.join()

    def spans(self):
        """Those that were received so far, in this order."""
        return [json.loads(line) for line in list(self.lines)]
