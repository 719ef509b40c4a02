"""This program once more, in a network, a mount and a process namespace of its own: a docker daemon
can publish ports there, and nothing that it starts outlives the program."""
import os
import signal
import subprocess
import sys

from programs import done

INSIDE = "HOLDFAST_TEST_INSIDE"


def inside():
    return INSIDE in os.environ


def enter():
    """The exit code of the program inside of them."""
    rights = [] if os.geteuid() == 0 else ["sudo"]
    apart = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--pid", "--fork"]
    apart += ["--kill-child", "--mount-proc", "--mount", "--propagation", "private"]
    command = [*rights, *apart, "env", f"{INSIDE}=1", sys.executable, *sys.argv]
    return subprocess.run(command, check=False).returncode


def start():
    """What the first process of the namespaces does first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # it would be ignored
    done(["ip", "link", "set", "lo", "up"])
