#!/usr/bin/env python3
"""Runs the commands of docs/operations.md, docs/config.md and the comments in deploy/, as printed,
with the programs of a build.

    tests/docs/operations.py CHECK BUILD_DIRECTORY

A command finds /etc, /var/lib, the port 7420 and the rest as the text says: Machine has them in
namespaces of its own. Needs root, or sudo.
"""
import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import namespaces  # noqa: E402
import programs  # noqa: E402
from inventory import Printed, blocks_of, read_document  # noqa: E402
from machine import Machine, mode_of  # noqa: E402
from programs import Folder, Postgres, expect, run  # noqa: E402
from prometheus import fetch  # noqa: E402

OPERATIONS, CONFIG = "docs/operations.md", "docs/config.md"
COMMANDS, COMMANDS_TITLE = "docs/holdfastd.md", "The server program"
TEAM, AVAILABLE = "deploy/config/team.yaml", "deploy/config/high-availability.yaml"
SAMPLE = "deploy/config/laptop.yaml"
CONFIGURED = "/etc/holdfast/holdfastd.yaml"
REPLAY = "holdfast replay --run first --verify tests/data/conversation.jsonl"
REPLAYED = "3 sessions, 7 turns, 27 messages, 0 differences"
# A test build, which the programs of the preset dev are, serves its own machine alone.
EVERYWHERE, HERE = "0.0.0.0:7420", "127.0.0.1:7420"
# Of the sample of a ready line: what differs from run to run.
VARIABLE = {r"store_id=\S+": r"store_id=[0-9a-f-]{36}", r"pid=\d+": r"pid=\d+"}


def expect_replay(machine, *more):
    """The server on the default port serves."""
    said = machine.type("\n".join([*more, REPLAY]) + "\n")
    expect(REPLAYED in said, f"nothing says `{REPLAYED}`: {said}")


def ready_line():
    """What the sample of the ready line matches."""
    (sample,) = [
        block.body.strip()
        for block in blocks_of(OPERATIONS, read_document(OPERATIONS))
        if block.language == "text" and block.headings[-1] == "Start"
    ]
    for printed, wanted in VARIABLE.items():
        sample, count = re.subn(printed, lambda _, wanted=wanted: wanted, sample)
        expect(count == 1, f"the sample does not have {printed}")
    return sample


def check_start(machine, printed):
    """The first command serves, and prints the line that the text has. With the settings of
    `Metrics` it serves them where the text says, and Prometheus takes the targets."""
    machine.install_programs()
    sample = read_document(SAMPLE)
    machine.write(CONFIGURED, sample)
    (block,) = printed.take(OPERATIONS, "Start", "sh")
    server = machine.serve(block)
    try:
        wanted = ready_line()
        expect(re.fullmatch(wanted, server.ready.strip()), f"{server.ready}is not {wanted}")
        expect_replay(machine)
    finally:
        ended = server.stop()
    expect(ended == 0, f"the server ended with {ended}")

    settings, scraped = printed.take(OPERATIONS, "Metrics", "yaml")
    machine.write(CONFIGURED, sample + settings)
    server = machine.serve(block)
    try:
        expect(server.ready.endswith(" metrics=127.0.0.1:9464\n"), server.ready)
        expect("holdfast_build_info" in fetch("http://127.0.0.1:9464/metrics"), "no metrics")
        expect('"127.0.0.1:9464"' in scraped, "other metrics are scraped than served")
    finally:
        server.stop()
    check_scrapes(machine, scraped)


def check_scrapes(machine, text):
    path = machine.write(os.path.join(machine.folder, "scrapes", "prometheus.yaml"), text)
    for file in ("rules.yaml", "alerts.yaml"):
        source = os.path.join(machine.clone, "deploy", "prometheus", file)
        shutil.copy(source, os.path.dirname(path))
    taken = run(["promtool", "check", "config", path])
    expect(taken.returncode == 0, f"promtool: {taken.stdout}")


def check_rules(machine, printed):
    """Prometheus takes the configuration of the runbooks, with the rules beside it."""
    (block,) = printed.take("docs/runbooks.md", "Runbooks", "yaml")
    check_scrapes(machine, block)


def check_service(machine, printed):
    """The store of the service is backed up while it serves, lost, and restored: the sessions are
    there, in the next incarnation."""
    machine.install_service()
    expect(mode_of("/etc/holdfast/holdfastd.env") == 0o600, "others read the secrets")
    expect(mode_of("/var/lib/holdfast") == 0o700, "others read the sessions")
    expect_replay(machine, "holdfast health")
    listed = machine.type("holdfast session list\n")
    (backup,) = printed.take(OPERATIONS, "Backup", "sh", "files.py backup")
    said = machine.type(backup)
    expect("3 sessions" in said, f"the backup has other sessions: {said}")
    machine.type("holdfast session delete greenhouse-first\n")
    (restore,) = printed.take(OPERATIONS, "Restoring", "sh", "files.py restore")
    machine.type(restore)
    expect(machine.type("holdfast session list\n") == listed, "other sessions are listed")
    health = json.loads(machine.type("holdfast --output json health\n"))
    expect(health["incarnation"] == "2", f"not adopted: {health}")
    machine.type("systemctl stop holdfast\n")


class Database:
    """A PostgreSQL where the samples of deploy/config look for one."""

    def __init__(self, machine):
        self.machine = machine
        self.postgres = Postgres(os.path.join(machine.folder, "postgres"))

    def __enter__(self):
        os.mkdir("/run/postgresql", 0o755)
        shutil.chown("/run/postgresql", "postgres")
        settings = ["listen_addresses=127.0.0.1", "ssl=on"]
        settings.append(f"unix_socket_directories={self.postgres.folder},/run/postgresql")
        for setting, path in self._certificates().items():
            settings.append(f"{setting}={path}")
        self.postgres.start(*settings)
        return self

    def __exit__(self, *_):
        self.postgres.stop()

    def sql(self, statement, database="postgres"):
        return self.postgres.sql(database, statement)

    def _certificates(self):
        """Of an authority that /etc/holdfast has, for db1.example.org, which is this machine."""
        folder = os.path.join(self.machine.folder, "certificates")
        self.machine.write(f"{folder}/san", "subjectAltName=DNS:db1.example.org\n")
        self.machine.write("/etc/holdfast/.made", "")
        self.machine.type(
            f"""cd {folder}
            openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -keyout ca.key \
              -out /etc/holdfast/db-ca.crt
            openssl req -newkey rsa:2048 -nodes -subj /CN=db1.example.org -keyout key -out asked
            openssl x509 -req -in asked -CA /etc/holdfast/db-ca.crt -CAkey ca.key \
              -extfile san -out certificate
            chown postgres key
            chmod 0600 key
            echo 127.0.0.1 db1.example.org >>/etc/hosts
            echo 127.0.0.2 db2.example.org >>/etc/hosts
            """
        )
        return {"ssl_cert_file": f"{folder}/certificate", "ssl_key_file": f"{folder}/key"}


def expect_served(machine, server):
    try:
        expect_replay(machine)
    finally:
        ended = server.stop()
    expect(ended == 0, f"the server ended with {ended}")


def check_samples(machine, printed):
    """The samples of deploy/config and of docs/config.md serve a database after the commands of
    their comments; the connection over the network is verified."""
    machine.install_programs()
    machine.edit(TEAM, EVERYWHERE, HERE)
    machine.edit(AVAILABLE, EVERYWHERE, HERE)
    folder, secret = "deploy/config", {"HOLDFAST_PG": "not asked for by this database"}
    with Database(machine) as database:
        database.sql("CREATE DATABASE holdfast")
        (block,) = printed.take(TEAM, "")
        expect_served(machine, machine.serve(block, folder))
        database.sql("DROP DATABASE holdfast")
        database.sql("CREATE DATABASE holdfast")
        (block,) = printed.take(AVAILABLE, "")
        machine.type(block, folder, **secret)
        serve = f"holdfastd --config {os.path.basename(AVAILABLE)}\n"
        server = machine.serve(serve, folder, **secret)
        encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
        said = database.sql(encrypted + "WHERE application_name LIKE 'holdfastd%'")
        expect(said == "t", f"the connections are not encrypted: {said}")
        expect_served(machine, server)
        (stores,) = printed.take(CONFIG, "A store in PostgreSQL", "yaml")
        machine.write(CONFIGURED, stores)
        machine.type(f"holdfastd --check-config --config {CONFIGURED}\n", **secret)
        expect_served_again(machine, secret)


def expect_served_again(machine, secret):
    """Of the database that the server before has left."""
    server = machine.serve(f"holdfastd --config {CONFIGURED}\n", **secret)
    try:
        said = machine.type("holdfast session list\n")
        expect("greenhouse-first" in said, f"other sessions are listed: {said}")
    finally:
        server.stop()


def check_rights(machine, printed):
    """A role with the rights that the text grants serves, also what a later update makes; without
    them it is refused."""
    machine.install_programs()
    dsn = "host=/run/postgresql dbname=holdfast user="
    serve, as_app = "holdfastd --config /dev/null\n", {"HOLDFAST_POSTGRES_DSN": f"{dsn}app"}
    with Database(machine) as database:
        for role in ("owner", "app"):
            database.sql(f"CREATE ROLE {role} LOGIN")
        database.sql("CREATE DATABASE holdfast OWNER owner")
        machine.type("holdfastd migrate\n", HOLDFAST_POSTGRES_DSN=f"{dsn}owner")
        refused = run(["bash", "-c", serve], env=machine.place | as_app)
        expect("permission denied" in refused.stdout, f"served without rights: {refused.stdout}")
        (grants,) = printed.take(OPERATIONS, "A store in PostgreSQL", "sql")
        owner = f'psql --no-psqlrc --set ON_ERROR_STOP=1 --dbname "{dsn}owner"'
        machine.type(f"{owner} <<'END'\n{grants}END\n")
        expect_served(machine, machine.serve(serve, **as_app))
        machine.type(f'{owner} --command "CREATE TABLE holdfast.later ()"\n')
        machine.type(f'psql --dbname "{dsn}app" --command "SELECT * FROM holdfast.later"\n')


# The examples of `holdfastd --help` and of its commands -> what they print, in the order in which
# they are run here. None: it serves, and the next ones find it.
GIVEN = f"--config {CONFIGURED}"
TEAM_STORE = "stores: [{name: team, kind: postgres, active: true, dsn: '%s'}]\n"
EXAMPLES = {
    f"holdfastd migrate {GIVEN}": r"(?m)^store team: schema \d+, \d+ steps taken$",
    f"holdfastd migrate --status {GIVEN}": r"(?m)^store team: schema \d+ may be served$",
    f"holdfastd store adopt {GIVEN}": r"^adopted: store [0-9a-f-]{36}, incarnation 2$",
    "holdfastd --check-config --config holdfastd.yaml": "^the configuration is valid$",
    f"holdfastd {GIVEN}": None,
    "holdfastd healthcheck --address 127.0.0.1:7420": "^serving$",
    "holdfastd healthcheck --service liveness": "^serving$",
}


def check_commands(machine, printed):
    """Each example of holdfastd's help does what it says, with a store in a database."""
    machine.install_programs()
    config = TEAM_STORE % "host=/run/postgresql dbname=holdfast user=holdfast"
    machine.write(CONFIGURED, config)
    machine.write(os.path.join(machine.clone, "holdfastd.yaml"), config)
    blocks = printed.take(COMMANDS, COMMANDS_TITLE)
    lines = [line for block in blocks for line in block.splitlines()]
    expect(sorted(lines) == sorted(EXAMPLES), f"the page has other examples: {lines}")
    server = None
    with Database(machine) as database:
        database.sql("CREATE DATABASE holdfast")
        for line, promised in EXAMPLES.items():
            if promised is None:
                server = machine.serve(line + "\n")
                continue
            said = machine.type(line + "\n")
            expect(re.search(promised, said), f"`{line}` prints {said}")
        ended = server.stop()
    expect(ended == 0, f"the server ended with {ended}")


CHECKS = {
    "docs.Operations.Commands": check_commands,
    "docs.Operations.Start": check_start,
    "docs.Operations.Service": check_service,
    "docs.Operations.Samples": check_samples,
    "docs.Operations.Rights": check_rights,
    "docs.Operations.Rules": check_rules,
}


def run_check(name, build):
    printed = Printed(name)
    with Folder() as folder:
        CHECKS[name](Machine(build, folder), printed)
    printed.expect_all_taken()


def main():
    name, build = f"docs.Operations.{sys.argv[1]}", os.path.abspath(sys.argv[2])
    if not namespaces.inside():
        return namespaces.enter()
    namespaces.start()
    return programs.outcome(name, lambda: run_check(name, build))


if __name__ == "__main__":
    sys.exit(main())
