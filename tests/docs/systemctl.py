#!/usr/bin/python3
"""The part of systemctl that the documents use, for a machine without systemd: it reads the unit,
starts its ExecStart as its user, and ends it as the unit says.

    systemctl daemon-reload | reset-failed UNIT | enable --now UNIT | start UNIT | stop UNIT
"""
import os
import pwd
import re
import shlex
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import units  # noqa: E402
from programs import wait_for  # noqa: E402

UNITS = "/etc/systemd/system"


def settings(name):
    """key -> values of the unit's file."""
    with open(os.path.join(UNITS, f"{name}.service"), encoding="utf-8") as file:
        return units.settings(file.read())


def paths(name):
    """Where the process id, the first line and the log are."""
    return [f"/run/{name}.{kind}" for kind in ("pid", "ready", "log")]


def environment(unit):
    made = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    made |= dict(pair.split("=", 1) for line in unit["Environment"] for pair in shlex.split(line))
    for file in unit.get("EnvironmentFile", []):
        with open(file.removeprefix("-"), encoding="utf-8") as text:
            made |= dict(re.findall(r"^(\w+)=(.*)$", text.read(), re.MULTILINE))
    return made


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def start(name):
    unit, (pid, ready, log) = settings(name), paths(name)
    user = pwd.getpwnam(unit["User"][0])
    state = os.path.join("/var/lib", unit["StateDirectory"][0])
    os.makedirs(state, int(unit["StateDirectoryMode"][0], 8), exist_ok=True)
    os.chown(state, user.pw_uid, user.pw_gid)
    with open(ready, "w", encoding="utf-8") as first, open(log, "a", encoding="utf-8") as said:
        process = subprocess.Popen(
            shlex.split(unit["ExecStart"][0]),
            env=environment(unit),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=first,
            stderr=said,
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            umask=int(unit["UMask"][0], 8),
            start_new_session=True,
        )
    with open(pid, "w", encoding="utf-8") as file:
        file.write(str(process.pid))
    wait_for(f"{name} to serve", lambda: text_of(ready) or process.poll() is not None)
    if process.poll() is not None:
        sys.exit(f"systemctl: {name} ended with {process.returncode}: {text_of(log)}")


def runs(process):
    """Whether it is there, and is more than an exit code that no parent has read."""
    try:
        return "\nState:\tZ" not in text_of(f"/proc/{process}/status")
    except (FileNotFoundError, ProcessLookupError):
        return False


def stop(name):
    process = int(text_of(paths(name)[0]))
    os.kill(process, signal.SIGTERM)
    wait_for(f"{name} to end", lambda: not runs(process))


def main():
    action, *words = sys.argv[1:]
    if action in ("daemon-reload", "reset-failed"):
        return
    if action == "enable" and words[0] == "--now":
        start(words[1])
    elif action in ("start", "stop"):
        {"start": start, "stop": stop}[action](*words)
    else:
        sys.exit(f"systemctl: {action} is not known here")


main()
