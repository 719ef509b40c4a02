"""deploy/systemd: the unit is valid and hardened, and allows what a server does."""
import os
import re

from programs import CONVERSATION, ROOT, Failed, Folder, Postgres, Server, done, expect, run
from units import allowed, settings

UNIT = os.path.join(ROOT, "deploy", "systemd", "holdfast.service")
USERS = os.path.join(ROOT, "deploy", "systemd", "holdfast.sysusers.conf")
# Of systemd-analyze, which counts to 100 here: no network, addresses and devices of its own are
# what is left.
MOST_EXPOSURE = 13
SLACK_SECONDS = 10


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def installed(build, folder):
    """The unit as it reads where the programs of the build and a user of this machine are."""
    program = os.path.join(build, "bin", "holdfastd")
    text = read(UNIT).replace("/usr/bin/holdfastd", program)
    path = os.path.join(folder, "holdfast.service")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def check_valid(build):
    """systemd finds nothing to say, the user that it names is made, and it waits for the drain."""
    with Folder() as folder:
        said = done(["systemd-analyze", "verify", "--man=no", installed(build, folder)])
        expect(not said, f"systemd-analyze verify says: {said}")
        done(["systemd-sysusers", "--dry-run", USERS])
    unit = settings(read(UNIT))
    expect(f"u {unit['User'][0]} " in read(USERS), "the unit's user is another than sysusers makes")
    drain = re.search(
        r"drain_timeout: (\d+)s",
        done([os.path.join(build, "bin", "holdfastd"), "--print-config"], env={"HOME": "/"}),
    )
    wanted = f"{int(drain[1]) + SLACK_SECONDS}s"
    expect(unit["TimeoutStopSec"] == [wanted], f"TimeoutStopSec is not {wanted}")
    expect(unit["Restart"] == ["on-failure"], "a fail-stop must be restarted")


def check_hardened(_build):
    """Its exposure stays below the bound, and a softer unit exceeds it."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager"]
    checked = run(command + [f"--threshold={MOST_EXPOSURE}", UNIT])
    expect(checked.returncode == 0, checked.stdout)
    with Folder() as folder:
        path = os.path.join(folder, "holdfast.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r"^NoNewPrivileges=.*$", "", read(UNIT), flags=re.MULTILINE))
        softer = run(command + [f"--threshold={MOST_EXPOSURE}", path])
        expect(softer.returncode != 0, "a softer unit passes too")


def trace_of(build, folder, name, **store):
    """What strace writes of a server that starts, serves a replay, and drains."""
    trace = os.path.join(folder, f"{name}.trace")
    traced = ["strace", "--follow-forks", "--string-limit=0", "--output", trace]
    with Server(build, folder, name, wrapper=traced, **store) as server:
        server.start()
        replayed = server.client("replay", "--parallel", "4", "--verify", CONVERSATION)
        expect(replayed.returncode == 0, replayed.stdout)
        ended = server.stop()
        expect(ended == 0, f"the server ended with {ended}: {read(server.log)}")
    return read(trace)


def forbidden(trace):
    """What the unit refuses of a trace, beside system calls by their names."""
    families = set(settings(read(UNIT))["RestrictAddressFamilies"][0].split())
    used = set(re.findall(r" socket\((AF_\w+)", trace))
    expect("AF_UNIX" in used or "AF_INET" in used, f"the trace shows the sockets {used} alone")
    yield from used - families
    # MemoryDenyWriteExecute: no mapping is both, and none becomes executable later.
    yield from re.findall(r" mmap\([^)\n]*PROT_WRITE\|PROT_EXEC[^)\n]*", trace)
    yield from re.findall(r" mprotect\([^)\n]*PROT_EXEC[^)\n]*", trace)


def check_system_calls(build):
    """Every system call of a server over each store is allowed."""
    permitted = allowed(settings(read(UNIT)))
    with Folder() as folder, Postgres(os.path.join(folder, "pg")) as postgres:
        postgres.start()
        dsn = postgres.dsn("holdfast")
        postgres.sql("postgres", "CREATE DATABASE holdfast")
        program = os.path.join(build, "bin", "holdfastd")
        done([program, "migrate"], env=os.environ | {"HOLDFAST_POSTGRES_DSN": dsn})
        trace = trace_of(build, folder, "files", root=os.path.join(folder, "root"))
        trace += trace_of(build, folder, "postgres", dsn=dsn)
    made = set(re.findall(r"^\d+ +(\w+)\(", trace, re.MULTILINE))
    expect({"fdatasync", "accept4", "rt_sigaction"} <= made, f"not all of them: {sorted(made)}")
    refused = sorted(made - permitted) + sorted(forbidden(trace))
    if refused:
        raise Failed(f"the unit forbids {refused}")
    print(f"{len(made)} system calls, each one allowed")
