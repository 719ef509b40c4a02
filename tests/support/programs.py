"""What tests in Python share: real servers, clients and databases, bounded waits, named checks."""
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONVERSATION = os.path.join(ROOT, "tests", "data", "conversation.jsonl")
WAIT_SECONDS = 120
# What a command of the build is run by: as it is, or as the program before, which knows each step
# of the schema but the newest.
PRESENT = ()
FORMER = ("env", "HOLDFAST_SABOTEUR=one_step_behind")


def project_version():
    """MAJOR.MINOR.PATCH of this checkout."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"^project\(holdfast VERSION (\S+) ", file.read(), re.MULTILINE)[1]


class Failed(Exception):
    """What a check found."""


def expect(condition, problem):
    if not condition:
        raise Failed(problem)


def wait_for(what, condition, seconds=WAIT_SECONDS):
    """The first true value of `condition`, which is asked again and again for so long."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"waited {seconds} s for {what}")
        time.sleep(0.02)


def run(command, seconds=WAIT_SECONDS, **options):
    """The finished process; its output is text, standard error with it."""
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=seconds,
        check=False,
        **options,
    )


def done(command, **options):
    """The output of a command that must succeed."""
    process = run(command, **options)
    words = " ".join(command)
    expect(process.returncode == 0, f"`{words}` ended with {process.returncode}: {process.stdout}")
    return process.stdout


def free_port():
    """A port of this machine that no program had a moment ago."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Serving:
    """A holdfastd that has said that it is ready, started by `command`; its log goes to the file
    `log`. `options` are those of Popen. Failed, with what it logged, when it does not start."""

    def __init__(self, command, log, **options):
        before = os.path.getsize(log) if os.path.exists(log) else 0
        with open(log, "ab") as said:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=said,
                stdin=subprocess.DEVNULL,
                text=True,
                **options,
            )
        readable, _, _ = select.select([self.process.stdout], [], [], WAIT_SECONDS)
        self.ready = self.process.stdout.readline() if readable else ""
        if not self.ready.startswith("holdfastd ready"):
            self.kill()
            with open(log, "rb") as said:
                said.seek(before)
                problem = said.read().decode(errors="replace")
            raise Failed(f"the server ended with {self.process.returncode}: {problem}")
        # What the line says: address, store, kind, store_id, pid, and metrics if they are served.
        self.facts = dict(word.split("=", 1) for word in self.ready.split() if "=" in word)
        self.address, self.pid = self.facts["address"], int(self.facts["pid"])

    def stop(self, seconds=WAIT_SECONDS):
        """SIGTERM to the server itself, whatever runs it; the exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        """What still runs ends at once."""
        if self.process.poll() is None:
            os.kill(getattr(self, "pid", self.process.pid), signal.SIGKILL)
            self.process.wait(WAIT_SECONDS)


class Folder:
    """A short temporary directory that others may enter, gone at the end."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="holdfast-test.", dir="/tmp")
        os.chmod(self.path, 0o755)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Server:
    """A holdfastd on a free port. Its store is `root`, or the database `dsn`."""

    def __init__(self, build, folder, name, root=None, dsn=None, wrapper=()):
        self.command = list(wrapper) + [os.path.join(build, "bin", "holdfastd")]
        self.cli = os.path.join(build, "bin", "holdfast")
        self.log = os.path.join(folder, f"{name}.log")
        self.config = os.path.join(folder, f"{name}.yaml")
        store = f"kind: fs, root: '{root}'" if root else f'kind: postgres, dsn: "{dsn}"'
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(
                "server: {address: '127.0.0.1:0'}\n"
                f"stores: [{{name: local, active: true, {store}}}]\n"
            )
        self.serving = self.address = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        """Serves, or fails with what the server said."""
        self.serving = Serving(self.command + ["--config", self.config], self.log)
        self.address = self.serving.address
        return self

    def expect_refused(self, text):
        """The start is refused, with a reason that has this text."""
        try:
            self.start()
        except Failed as refused:
            expect(text in str(refused), str(refused))
            return
        raise Failed("the server starts, and must be refused")

    def stop(self):
        """SIGTERM; the exit code."""
        return self.serving.stop()

    def kill(self):
        if self.serving is not None:
            self.serving.kill()

    def client(self, *words):
        """The finished `holdfast` with these words."""
        return run([self.cli, "--address", self.address, *words])

    def answer(self, *words):
        """What `holdfast --output json` says."""
        return json.loads(done([self.cli, "--address", self.address, "--output", "json", *words]))


class Postgres:
    """A cluster of the check's own, reached by a socket in `folder`. It syncs nothing."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, *settings):
        """Serves; `settings` are further ones, such as port=5432."""
        serve = [os.path.join(ROOT, "scripts", "postgres"), "serve", self.folder, "fsync=off"]
        self.process = subprocess.Popen(
            serve + list(settings),
            stdout=subprocess.DEVNULL,
            stderr=open(self.folder + ".log", "ab"),
            stdin=subprocess.DEVNULL,
        )
        probe = ["pg_isready", "--quiet", "--host", self.folder, "--username", "holdfast"]
        wait_for("PostgreSQL", lambda: self._ended() or run(probe).returncode == 0)
        return self

    def _ended(self):
        if self.process.poll() is not None:
            with open(self.folder + ".log", encoding="utf-8") as log:
                raise Failed(f"PostgreSQL ended: {log.read()}")
        return False

    def stop(self, how=signal.SIGINT):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(WAIT_SECONDS)

    def dsn(self, database):
        return f"host={self.folder} user=holdfast dbname={database}"

    def sql(self, database, statement):
        command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--dbname"]
        return done(command + [self.dsn(database), "--command", statement]).strip()


def report(problems):
    """Prints each problem; the exit code, 1 if there are any."""
    count = 0
    for count, problem in enumerate(problems, 1):
        print(problem)
    return 1 if count else 0


def outcome(name, check):
    """Runs a check; the exit code, 1 when it raised Failed."""
    try:
        check()
    except Failed as failed:
        print(f"{name}: {failed}")
        return 1
    return 0


def main(checks):
    """Runs the check that the command line names, with the build directory that it names; --list
    prints the names. The exit code."""
    if sys.argv[1:] == ["--list"]:
        print(";".join(checks))
        return 0
    name, build = sys.argv[1:]
    sys.stdout.reconfigure(line_buffering=True)
    return outcome(name, lambda: checks[name](os.path.abspath(build)))
