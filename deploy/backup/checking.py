"""Whether a backup of files can be served: it is restored into a scratch directory, adopted, and
served at a socket file there, until every session was looked at."""
import json
import os
import subprocess
import tempfile
import time

from placing import Refused, run

ANSWER_SECONDS = 120
PAUSE_SECONDS = 0.1


def ask(programs, socket, *words):
    """What `holdfast` answers, or None."""
    command = [os.path.join(programs, "holdfast"), "--address", f"unix:{socket}"]
    try:
        said = subprocess.run(
            command + ["--output", "json", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(said.stdout) if said.returncode == 0 else None


def await_listing(programs, socket, server, timeout):
    """Waits until every session was looked at."""
    end = time.monotonic() + timeout
    while True:
        if server.poll() is not None:
            raise Refused(f"holdfastd ended with {server.returncode}")
        health = ask(programs, socket, "health")
        if health and not health["listing_incomplete"]:
            return
        if time.monotonic() > end:
            raise Refused(f"not every session was looked at within {timeout} s: see --timeout")
        time.sleep(PAUSE_SECONDS)


def served(programs, folder, timeout):
    """The sessions that a server over the adopted root in `folder` lists."""
    config, socket = os.path.join(folder, "holdfastd.yaml"), os.path.join(folder, "socket")
    with open(config, "x", encoding="utf-8") as file:
        root = json.dumps(os.path.join(folder, "root"))
        file.write(
            f"server: {{address: {json.dumps('unix:' + socket)}}}\n"
            f"stores: [{{name: check, kind: fs, active: true, root: {root}}}]\n"
        )
    program = os.path.join(programs, "holdfastd")
    run([program, "store", "adopt", "--config", config], timeout)
    with open(os.path.join(folder, "log"), "xb") as log:
        server = subprocess.Popen(
            [program, "--config", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        await_listing(programs, socket, server, timeout)
        listed = ask(programs, socket, "session", "list", "--limit", "0")
        if listed is None:
            raise Refused("the server does not list its sessions")
        return listed["sessions"]
    finally:
        server.kill()
        server.wait()


def check(arguments, restore):
    """`restore(root)` makes a new root of the backup and returns its label."""
    with tempfile.TemporaryDirectory(prefix="holdfast.", dir=arguments.scratch) as folder:
        began = time.monotonic()
        label = restore(os.path.join(folder, "root"))
        restored = time.monotonic()
        rows = served(arguments.programs, folder, arguments.timeout)
        looked = time.monotonic()
    unusable = [row for row in rows if row["condition"] != "CONDITION_OK"]
    bad = [f"{row['session_id']} ({row['condition']})" for row in unusable]
    if bad:
        raise Refused(f"{len(bad)} sessions cannot be served: {', '.join(bad[:10])}")
    if len(rows) != label["sessions"]:
        raise Refused(f"{len(rows)} sessions are served, and the backup has {label['sessions']}")
    print(
        f"{len(rows)} sessions can be served: restored in {restored - began:.1f} s, "
        f"looked at in {looked - restored:.1f} s"
    )
