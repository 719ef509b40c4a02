#!/usr/bin/env python3
"""Runs an example agent against a real server: it kills itself in the middle of a turn, is started
again over a server that was killed too, and in the end every turn is there exactly once.

    tests/docs/examples.py python|typescript BUILD_DIRECTORY
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from api import PROTOS, SERVICE_CONFIG, generate_stubs  # noqa: E402
from programs import ROOT, Serving  # noqa: E402

TURNS, CRASH_IN_TURN = 5, 3
LINES = 125
READY_SECONDS = 60
INSTALLS = 4  # tries of what asks a registry


def run(command, **options):
    print("examples:", " ".join(command), flush=True)
    return subprocess.run(command, check=True, **options)


def run_again(command, **options):
    """Runs what may fail because of the network: at most INSTALLS times."""
    for _ in range(1, INSTALLS):
        try:
            return run(command, **options)
        except subprocess.CalledProcessError as failed:
            print(f"examples: {failed}; it is tried again", flush=True)
    return run(command, **options)


class Server:
    """A holdfastd over a directory of its own, always on the same port."""

    def __init__(self, program, folder):
        self.program, self.folder, self.serving = program, folder, None
        # Bound and never listening, it keeps the port from every other bind to port 0 while the
        # server is down. With SO_REUSEADDR the server binds and listens beside it.
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.reserved.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.reserved.getsockname()[1]}"
        self.config = os.path.join(folder, "holdfastd.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(
                f"server: {{address: '{self.address}'}}\n"
                f"stores: [{{name: local, active: true, root: '{folder}/data'}}]\n"
            )

    def start(self):
        log = os.path.join(self.folder, "log")
        self.serving = Serving([self.program, "--config", self.config], log)

    def kill(self):
        if self.serving is not None:
            self.serving.kill()


def python_example(build):
    environment = {"PYTHONPATH": os.path.join(build, "examples", "python")}
    agent = os.path.join(ROOT, "examples", "python", "agent.py")

    def command(address, session, crash):
        numbers = ["--turns", str(TURNS), "--crash-in-turn", str(crash)]
        return [sys.executable, agent, address, session, *numbers]

    return agent, environment, command


def install_typescript(build):
    """The folder with the sources of the example and the packages that it needs."""
    source = os.path.join(ROOT, "examples", "typescript")
    folder = os.path.join(build, "examples", "typescript")
    for name in os.listdir(source):
        if name not in ("node_modules", "gen", "dist"):
            os.makedirs(folder, exist_ok=True)
            shutil.copy(os.path.join(source, name), folder)
    lock = os.path.join(folder, "package-lock.json")
    installed = os.path.join(folder, "node_modules", ".package-lock.json")
    if not os.path.exists(installed) or os.path.getmtime(installed) < os.path.getmtime(lock):
        run_again(["npm", "ci", "--no-audit", "--no-fund", "--loglevel", "error"], cwd=folder)
    return folder


def typescript_example(build):
    source = os.path.join(ROOT, "examples", "typescript")
    folder = install_typescript(build)
    environment = {"PROTOS": PROTOS}
    run(["npm", "run", "--silent", "build"], cwd=folder, env=os.environ | environment)
    program = os.path.join(folder, "dist", "agent.js")

    def command(address, session, crash):
        return ["node", program, address, session, str(TURNS), str(crash)]

    return os.path.join(source, "agent.ts"), environment, command


def check_session(address, session, lost=0):
    """What the API says of the session: every turn once, in order. `lost`: turns that another
    agent's resume abandoned, and behind each the resume of the agent that went on."""
    import grpc
    from holdfast.v1 import session_pb2 as pb
    from holdfast.v1 import session_service_pb2 as rpc
    from holdfast.v1.session_service_pb2_grpc import SessionServiceStub

    stub = SessionServiceStub(grpc.insecure_channel(address))
    read = stub.ListMessages(rpc.ListMessagesRequest(session_id=session, page_size=1000))
    said = [(message.seq, message.role, message.data.decode()) for message in read.messages]
    turns = [(turn, role) for turn in range(1, TURNS + 1) for role in ("user", "assistant")]
    expected = [
        (seq, role, f'"{role} in turn {turn}"') for seq, (turn, role) in enumerate(turns, 1)
    ]
    head = stub.GetSession(rpc.GetSessionRequest(session_id=session)).session
    facts = (head.last_turn, head.lifecycle, head.revision, head.journal_number)
    # One revision for the creation, two for each turn that was committed, and for one that was lost
    # its beginning and two resumes; one entry of the journal for each turn.
    begun = TURNS + lost
    wanted = (begun, pb.LIFECYCLE_PERSISTED, 1 + 2 * TURNS + 3 * lost, begun)
    if said != expected or facts != wanted:
        raise SystemExit(f"examples: found {said} and {facts}, not {expected} and {wanted}")
    print(f"examples: {len(said)} messages of {TURNS} turns, each once")


def take_over_and_leave(address, session):
    """Another agent forces the lease from the one that is gone, and gives it back."""
    import uuid

    import grpc
    from holdfast.v1 import session_service_pb2 as rpc
    from holdfast.v1.session_service_pb2_grpc import SessionServiceStub

    stub = SessionServiceStub(grpc.insecure_channel(address))
    fresh = lambda: {"request_id": str(uuid.uuid4()), "session_id": session}
    force = rpc.ForceTakeover(reason="test")
    resumed = stub.ResumeSession(
        rpc.ResumeSessionRequest(holder="another", force=force, **fresh())
    )
    stub.ReleaseLease(rpc.ReleaseLeaseRequest(lease_token=resumed.lease_token, **fresh()))


def drive_over_a_later_epoch(server, options, command):
    """The turn in which the agent was killed is of an epoch that has passed when it goes on."""
    session = "taken"
    crashed = subprocess.run(command(server.address, session, CRASH_IN_TURN), **options)
    if crashed.returncode != -signal.SIGKILL:
        raise SystemExit(f"examples: the agent ended with {crashed.returncode}, and not killed")
    take_over_and_leave(server.address, session)
    subprocess.run(command(server.address, session, 0), check=True, **options)
    check_session(server.address, session, lost=1)


def expect_no_start_without_secret(server, options, command):
    """Request ids that others can make would give them the lease token."""
    for given in ({}, {"HOLDFAST_AGENT_SECRET": ""}):
        environment = {k: v for k, v in options["env"].items() if k != "HOLDFAST_AGENT_SECRET"}
        ended = subprocess.run(
            command(server.address, "unsafe", 0),
            env=environment | given,
            stderr=subprocess.PIPE,
            text=True,
        )
        if ended.returncode == 0 or "HOLDFAST_AGENT_SECRET is not set" not in ended.stderr:
            raise SystemExit(f"examples: without a secret: {ended.returncode} {ended.stderr}")


def drive(server, environment, command):
    session = "example"
    secret = os.urandom(16).hex()
    given = {"HOLDFAST_SERVICE_CONFIG": SERVICE_CONFIG, "HOLDFAST_AGENT_SECRET": secret}
    options = {"env": os.environ | environment | given}
    server.start()
    expect_no_start_without_secret(server, options, command)
    crashed = subprocess.run(command(server.address, session, CRASH_IN_TURN), **options)
    if crashed.returncode != -signal.SIGKILL:
        raise SystemExit(f"examples: the agent ended with {crashed.returncode}, and not killed")
    server.kill()
    again = subprocess.Popen(command(server.address, session, 0), **options)
    server.start()
    if again.wait(READY_SECONDS) != 0:
        raise SystemExit(f"examples: the agent that goes on ended with {again.returncode}")
    check_session(server.address, session)
    # A third agent finds everything done and changes nothing.
    subprocess.run(command(server.address, session, 0), check=True, **options)
    check_session(server.address, session)
    drive_over_a_later_epoch(server, options, command)


def main():
    example, build = sys.argv[1], os.path.abspath(sys.argv[2])
    stubs = os.path.join(build, "examples", "python")
    generate_stubs(stubs)
    sys.path.insert(0, stubs)
    makers = {"python": python_example, "typescript": typescript_example}
    source, environment, command = makers[example](build)
    with open(source, encoding="utf-8") as file:
        if len(file.readlines()) > LINES:
            raise SystemExit(f"examples: {source} has more than {LINES} lines")
    with tempfile.TemporaryDirectory(prefix="holdfast examples ") as folder:
        server = Server(os.path.join(build, "bin", "holdfastd"), folder)
        try:
            drive(server, environment, command)
        finally:
            server.kill()


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
