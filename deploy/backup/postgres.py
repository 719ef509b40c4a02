#!/usr/bin/env python3
"""Backup and restore of a store in PostgreSQL, by PostgreSQL's own programs, while servers run.

  postgres.py dump BACKUP          logical: schema holdfast of one database, into the new directory
                                   BACKUP
  postgres.py restore-dump BACKUP  into a database that exists and has no schema holdfast
  postgres.py base BACKUP          physical: the whole cluster with all its databases
  postgres.py restore-base BACKUP PGDATA --programs DIR
                                   makes the new data directory PGDATA, and adopts its store; needs
                                   holdfastd in DIR

--dsn, else HOLDFAST_POSTGRES_DSN, says which database: libpq's form, without a password, which
libpq finds (PGPASSWORD, ~/.pgpass). `base` needs a role with REPLICATION that may read
holdfast.store; run `restore-base` as the user that runs PostgreSQL. A backup holds every change
that was acknowledged before it began. BACKUP and PGDATA appear when they are whole; what a killed
run leaves behind is called .NAME.unfinished.* and can be removed.
"""
import argparse
import glob
import os
import re
import shutil
import sys
import time

sys.dont_write_bytecode = True  # of the modules beside it

from placing import Refused, Staging, main, output, read_label, run, write_label
from private_postgres import PrivatePostgres

LOGICAL, PHYSICAL = "postgres dump", "postgres base"
DUMP, DATA = "dump", "data"
LOCK_WAIT = "10s"  # for a migration that is under way
ABOUT = """SELECT s.store_id, s.incarnation, s.system_identifier = c.system_identifier,
  current_database(), n.nspowner::regrole
  FROM holdfast.store s, pg_control_system() c, pg_namespace n WHERE n.nspname = 'holdfast'"""
HAS_SCHEMA = "SELECT count(*) FROM pg_namespace WHERE nspname = 'holdfast'"

TABLES = """SELECT string_agg(format('%I.%I', schemaname, tablename), ', ')
  FROM pg_tables WHERE schemaname = 'holdfast'"""


def program(name):
    """PostgreSQL's newest one of this machine."""
    found = glob.glob(f"/usr/lib/postgresql/*/bin/{name}")
    by_version = sorted(found, key=lambda path: int(re.search(r"(\d+)/bin", path)[1]))
    return by_version[-1] if by_version else name


def ask(arguments, statement):
    """The columns of the one row that a statement gives."""
    command = [program("psql"), "--no-psqlrc", "--tuples-only", "--no-align"]
    command += ["--field-separator=\t", "--set=ON_ERROR_STOP=1", "--dbname", arguments.dsn]
    command += ["--command", statement]
    return output(command, arguments.timeout).strip().split("\t")


def about(arguments):
    if ask(arguments, "SELECT pg_is_in_recovery()") != ["f"]:
        raise Refused("it is a standby, which may lack what was acknowledged: name the primary")
    store, incarnation, _, database, owner = ask(arguments, ABOUT)
    facts = {"store_id": store, "incarnation": int(incarnation)}
    return facts | {"database": database, "owner": owner}


def dump(arguments):
    began = time.time()
    with Staging(arguments.backup) as staging:
        facts = about(arguments)
        path = os.path.join(staging.path, DUMP)
        command = [program("pg_dump"), "--format=custom", "--compress=1", "--schema=holdfast"]
        command += [f"--lock-wait-timeout={LOCK_WAIT}", "--file", path, "--dbname", arguments.dsn]
        run(command, arguments.timeout)
        contents = output([program("pg_restore"), "--list", path], arguments.timeout)
        if "TABLE DATA holdfast store " not in contents:
            raise Refused("the dump has no table holdfast.store: has the role all its rights?")
        write_label(staging.path, {"kind": LOGICAL, "began": began, "ended": time.time()} | facts)
        staging.place()
    print(f"dump of store {facts['store_id']} in {time.time() - began:.1f} s")


def restore_dump(arguments):
    began = time.time()
    label = read_label(arguments.backup, LOGICAL)
    if ask(arguments, HAS_SCHEMA) != ["0"]:
        raise Refused("the database has a schema holdfast already: name an empty one")
    command = [program("pg_restore"), "--single-transaction", "--exit-on-error"]
    if arguments.no_owner:
        command += ["--no-owner", "--no-privileges"]
    command += ["--dbname", arguments.dsn, os.path.join(arguments.backup, DUMP)]
    run(command, arguments.timeout)
    ask(arguments, "ANALYZE " + ask(arguments, TABLES)[0])
    store, _, is_same_cluster, _, _ = ask(arguments, ABOUT)
    if store != label["store_id"]:
        raise Refused(f"the database holds store {store}, and the backup {label['store_id']}")
    print(f"restored store {store} in {time.time() - began:.1f} s")
    if is_same_cluster == "t":
        print("It is in the cluster that it came from, and is NOT refused: let no server reach it")
        print("before it is adopted, and never let one reach the original again.")
    else:
        print("It is refused until it is adopted: two clusters could go on from the same sessions.")
    print("When no server uses the original any more: holdfastd store adopt --config FILE")


def base(arguments):
    began = time.time()
    with Staging(arguments.backup) as staging:
        facts = about(arguments)
        path = os.path.join(staging.path, DATA)
        command = [program("pg_basebackup"), "--pgdata", path, "--wal-method=stream", "--no-sync"]
        command += ["--checkpoint=fast", "--manifest-checksums=SHA256", "--dbname", arguments.dsn]
        run(command, arguments.timeout)
        run([program("pg_verifybackup"), "--quiet", path], arguments.timeout)
        write_label(staging.path, {"kind": PHYSICAL, "began": began, "ended": time.time()} | facts)
        staging.place()
    print(f"base backup with store {facts['store_id']} in {time.time() - began:.1f} s")


def restore_base(arguments):
    began = time.time()
    if os.geteuid() == 0:
        raise Refused("PostgreSQL does not run as root: run this as its user, such as postgres")
    label = read_label(arguments.backup, PHYSICAL)
    source = os.path.join(arguments.backup, DATA)
    run([program("pg_verifybackup"), "--quiet", source], arguments.timeout)
    with Staging(arguments.pgdata) as staging:
        shutil.copytree(source, staging.path, symlinks=True, dirs_exist_ok=True)
        os.chmod(staging.path, 0o700)
        with PrivatePostgres(program("postgres"), staging.path, arguments.timeout) as server:
            database, role = label["database"], arguments.role or label["owner"]
            dsn = f"host='{server.folder}' dbname='{database}' user='{role}'"
            adopt = [os.path.join(arguments.programs, "holdfastd"), "store", "adopt"]
            run(adopt, arguments.timeout, env=os.environ | {"HOLDFAST_POSTGRES_DSN": dsn})
        staging.place()
    print(f"restored in {time.time() - began:.1f} s")
    print("It was adopted, because a physical copy has the identity of its original and is not")
    print("refused: tokens, cursors and page tokens from before the restore no longer count.")
    print("Start PostgreSQL and then the servers, and never let one reach the original again.")


def arguments_of(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    found = {}
    for act in (dump, restore_dump, base, restore_base):
        command = commands.add_parser(act.__name__.replace("_", "-"))
        command.add_argument("backup", metavar="BACKUP")
        command.add_argument("--timeout", type=int, default=14400, metavar="SECONDS",
                             help="for each program that is run (default: four hours)")
        command.set_defaults(act=act)
        found[act] = command
        if act is not restore_base:
            dsn = os.environ.get("HOLDFAST_POSTGRES_DSN")
            command.add_argument("--dsn", default=dsn, required=dsn is None)
    found[restore_dump].add_argument(
        "--no-owner", action="store_true", help="everything belongs to the role of the dsn"
    )
    command = found[restore_base]
    command.add_argument("pgdata", metavar="PGDATA")
    command.add_argument("--programs", required=True, metavar="DIR")
    command.add_argument("--role", help="that may adopt (default: the owner of the schema)")
    return parser.parse_args(words)


if __name__ == "__main__":
    chosen = arguments_of(sys.argv[1:])
    sys.exit(main("postgres.py", lambda: chosen.act(chosen)))
