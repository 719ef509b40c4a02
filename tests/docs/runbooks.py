#!/usr/bin/env python3
"""Runs what docs/runbooks.md says to type: its SQL block, and each command between backticks. The
store is a database whose server waits for a lock, as in HoldfastPoolExhausted; a second server
serves files, as a service.

    tests/docs/runbooks.py BUILD_DIRECTORY

Needs root, or sudo.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import namespaces  # noqa: E402
from inventory import FENCE, Printed, read_document  # noqa: E402
from machine import Machine  # noqa: E402
from programs import Failed, Folder, Postgres, expect, outcome, wait_for  # noqa: E402

PAGE, TEST = "docs/runbooks.md", "docs.Runbooks.CommandsRun"
SPAN = re.compile(r"`([^`\n]+)`")
SQL = ("SELECT", "SHOW", "ALTER")
PROGRAMS = "df dmesg docker du holdfast holdfastd iostat journalctl jq kubectl"
TYPED = (*SQL, *PROGRAMS.split(), "pg_isready", "psql", "systemctl", "ulimit")
# What a command names -> what is there.
PLACES = {
    "DATABASE": "'{dsn}'",
    "FILE": "/etc/holdfast/holdfastd.yaml",
    "HOST:PORT": "127.0.0.1:7420",
    "HOST": "/run/postgresql",
    "ID": "greenhouse-first",
    "PID": "{blocker}",
    "ROOT": "/var/lib/holdfast",
}
# First words -> why they are not run.
NOT_RUN = {
    "kubectl ": "a cluster with nodes is needed",
    "docker logs ": "a container is needed: tests/walks have one",
    "journalctl ": "systemd is needed",
    "systemctl status ": "systemd is needed",
    "iostat ": "it ends by Ctrl-C",
    "ALTER ROLE ... ": "the rest is left out",
}
# First words -> what the output has, where the text promises it.
PROMISED = {
    "holdfast health": r"(?m)^serving +yes$",
    "holdfast store check": r"(?m)^writable +yes$",
    "holdfast session show": "greenhouse-first",
    "holdfast session list --state closed": "^SESSION ",
    "holdfastd --print-config": r"(?m)^ +insecure: false",
    "holdfastd migrate --status": r"server [0-9a-f]+ serves since .* knows schema \d+",
    "holdfastd healthcheck": "",
    "df -h": "(?m)^Filesystem",
    "jq -c": "^$",
    "pg_isready": "accepting connections",
    "SHOW synchronous_standby_names": r"^\n",
    "SELECT pg_terminate_backend": "^t\n",
}
CONVERSATION = "tests/data/conversation.jsonl"
DOOMED = "zusammenfassung-first"  # the session that is deleted
BLOCKED = "holdfast.probe"  # `holdfast store check` writes a row of it


def commands_of(text):
    """What is to be typed, in order; the name of a program alone is not."""
    plain = FENCE.sub("", text)
    found = [span.replace("\\|", "|") for span in SPAN.findall(plain)]
    return [span for span in found if span.split()[0] in TYPED and " " in span]


class Scene:
    """The machine, a database with a server, and the service over files."""

    def __init__(self, build, folder):
        self.machine = Machine(build, folder)
        self.postgres = Postgres(os.path.join(folder, "postgres"))
        self.dsn = "host=/run/postgresql user=holdfast dbname=holdfast"
        self.machine.place["HOLDFAST_POSTGRES_DSN"] = self.dsn
        self.server, self.others = None, []

    def __enter__(self):
        os.mkdir("/run/postgresql")
        self.machine.type("chown postgres /run/postgresql\n")
        self.postgres.start(f"unix_socket_directories={self.postgres.folder},/run/postgresql")
        self.postgres.sql("postgres", "CREATE DATABASE holdfast")
        self.machine.install_service()
        config = os.path.join(self.machine.folder, "postgres.yaml")
        self.machine.write(config, "server: {address: '127.0.0.1:7421'}\n")
        self.machine.type(f"holdfastd migrate\nholdfast replay --run first {CONVERSATION}\n")
        self.server = self.machine.serve(f"holdfastd --config {config}\n")
        return self

    def __exit__(self, *_):
        if self.server is not None:
            self.server.kill()
        for other in self.others:
            other.kill()
            other.wait()
        self.postgres.stop()

    def psql(self, statement):
        command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--dbname", self.dsn]
        words = " ".join(f"'{word}'" for word in command)
        return self.machine.type(f"{words} <<'END'\n{statement};\nEND\n")

    def block(self):
        """A program holds the lock of a table, and the server waits for it; the program's pid."""
        held = f"BEGIN; LOCK TABLE {BLOCKED}; SELECT pg_sleep(600)"
        self.start("psql", "--no-psqlrc", "--dbname", self.dsn, "--command", held)
        own = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        blocker = wait_for("the lock", lambda: self.psql(own).strip())
        self.start("holdfast", "--address", self.server.address, "store", "check")
        return blocker

    def start(self, *command):
        """A program in the background."""
        nothing = subprocess.DEVNULL
        options = {"stdin": nothing, "stdout": nothing, "stderr": nothing}
        self.others.append(subprocess.Popen(command, env=self.machine.place, **options))

    def prepare(self, command):
        """What must be so before a command."""
        if "systemctl start" in command:
            self.machine.type("systemctl stop holdfast\n")

    def type(self, command, places):
        """What the command prints; Failed when it fails."""
        if "session delete" in command:
            places = places | {"ID": DOOMED}
        for name, place in places.items():
            command = re.sub(rf"\b{name}\b", place, command)
        if command.split()[0] in SQL:
            return self.psql(command)
        if command.startswith("jq "):
            command = f"cat /run/holdfast.log | {command}"
        self.prepare(command)
        return self.machine.type(f"{command}\n")


def expect_promise(command, said):
    found = [words for words in PROMISED if command.startswith(words)]
    wanted = PROMISED[max(found, key=len)] if found else ""
    expect(re.search(wanted, said), f"`{command}` prints no `{wanted}`: {said}")


def check(build):
    printed = Printed(TEST)
    (statement,) = printed.take(PAGE, "Alerts", "sql")
    printed.expect_all_taken()
    count, problems = 0, []
    with Folder() as folder, Scene(build, folder) as scene:
        blocker = scene.block()
        waits = lambda: f"{{{blocker}}}" in scene.psql(statement)
        wait_for(f"the statement to name {blocker}", waits)
        there = {"dsn": scene.dsn, "blocker": blocker}
        places = {name: text.format(**there) for name, text in PLACES.items()}
        for command in commands_of(read_document(PAGE)):
            if any(command.startswith(words) for words in NOT_RUN):
                continue
            try:
                expect_promise(command, scene.type(command, places))
            except Failed as failed:
                problems.append(str(failed))
            count += 1
        expect(not problems, "\n".join(problems))
        expect(f"{{{blocker}}}" not in scene.psql(statement), "the server waits still")
        scene.machine.type("systemctl stop holdfast\n")
    print(f"{count} commands")


def main():
    build = os.path.abspath(sys.argv[1])
    if not namespaces.inside():
        return namespaces.enter()
    namespaces.start()
    return outcome(TEST, lambda: check(build))


if __name__ == "__main__":
    sys.exit(main())
