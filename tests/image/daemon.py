"""A docker daemon of a test's own."""
import json
import os
import select
import signal
import subprocess

from programs import Failed

DOCKER = "/usr/bin/docker"  # Debian's: it builds with the BuildKit of Debian's daemon
WAIT_SECONDS = 300
# So that the machine's network stays as it is.
NO_NETWORK = ["--bridge=none"]
NO_NETWORK += [f"--{name}=false" for name in ("iptables", "ip6tables", "ip-forward", "ip-masq")]


class Daemon:
    """Keeps its images and volumes in `data`, the rest in `folder`, and does not disturb another
    daemon. It leaves the network alone unless it is `networked`, for which it needs a network
    namespace of its own."""

    def __init__(self, folder, data, networked=False):
        socket = f"unix://{folder}/sock"
        os.makedirs(data, exist_ok=True)
        self.log = os.path.join(folder, "log")
        self.environment = os.environ | {"DOCKER_HOST": socket, "DOCKER_BUILDKIT": "1"}
        self.environment["HOLDFAST_BUILDER"] = DOCKER
        places = ["--data-root", os.path.join(data, "data"), "--exec-root", f"{folder}/exec"]
        places += ["--pidfile", f"{folder}/pid", "--host", socket]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["dockerd", *places, *([] if networked else NO_NETWORK)],
                stdout=log,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

    def __enter__(self):
        """Reads the daemon's log until it serves; a child takes the rest of it."""
        said = b""
        while b"API listen on" not in said:
            ready, _, _ = select.select([self.process.stderr], [], [], WAIT_SECONDS)
            line = self.process.stderr.readline() if ready else b""
            said += line
            if not line:
                self.__exit__()
                raise Failed(f"dockerd does not start: {said.decode()[-2000:]}")
        with open(self.log, "ab") as log:
            log.write(said)
            self.rest = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=log)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def docker(self, *arguments, check=True, **options):
        return subprocess.run(
            [DOCKER, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=check,
            **options,
        )

    def inspect(self, name):
        return json.loads(self.docker("inspect", name).stdout)[0]
