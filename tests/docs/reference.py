#!/usr/bin/env python3
"""Runs each example of docs/cli.md, which are those of `holdfast COMMAND --help`, as printed,
against a real server that has what the examples name.

    tests/docs/reference.py BUILD_DIRECTORY

A tail without --once ends by SIGINT, as its page says, after its first line.
"""
import concurrent.futures
import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import api  # noqa: E402
from inventory import Printed  # noqa: E402
from programs import CONVERSATION, Failed, Folder, Server, expect, outcome, run  # noqa: E402

PAGE, TITLE = "docs/cli.md", "Command line"
# What the examples name, beside "$PWD", the directory in which they run.
SESSION, OWNER, TOOL, RECORDINGS = "4f1c2d3e", "planner", "grep", "recordings.jsonl"
COLLECTION, KEYS, PLAN, PLAN_FILE = "notes", ("plan", "todo"), "water the beds", "plan.md"
TURNS, MORE_TURNS = 3, 40  # three events each
PRELUDE = "set -euo pipefail; HOME=$PWD; fpath=(zsh zsh); mkdir -p zsh .config/fish/completions\n"
SECONDS, AT_ONCE = 60, 4
# The first words of examples -> what their output has.
PROMISED = {
    "holdfast health": r"(?m)^serving +yes$",
    "holdfast session list": rf"(?m)^{SESSION} +persisted ",
    "holdfast session list --kind open": r"(?m)^shared +persisted ",
    "holdfast session list --state active": r"^SESSION .*\n$",  # none is
    "holdfast --output jsonl session list": rf"(?m)^{SESSION}$",
    "holdfast session show": rf"(?m)^session +{SESSION}$",
    "holdfast --output json session show": r"^\d+\n$",
    "holdfast session messages": "words of turn 3",
    "holdfast --output jsonl session messages": '"words of turn 1"',
    "holdfast session journal": rf"(?m)^3 +3 +1 +tool_intent +{TOOL} ",
    "holdfast session audit": "SessionLifecycle +start",
    "holdfast session audit 4f1c2d3e --class": r"^SEQ .*\n$",  # none is
    "holdfast --output jsonl session audit": r"(?m)^SessionLifecycle start\n",
    "holdfast session slots": OWNER,
    "holdfast --output jsonl session slots": "plan 3",
    "holdfast session tail": "^1 .* SessionStarted ",
    "holdfast session tail 4f1c2d3e --from": "^120 ",
    "holdfast --output json session tail": r"^SessionStarted$",
    "holdfast session resume": "^token +hf1",
    "holdfast session restore": "^4f1c2d3e is restored as revision [0-9]+, .* messages? removed$",
    "holdfast session restore shared": "^shared is restored .* with 0 messages; 1 message removed$",
    "holdfast session checkpoint": "^4f1c2d3e has a checkpoint at revision [0-9]+, named before",
    "holdfast session checkpoint 4f1c2d3e --name before-refactoring --delete":
        "^4f1c2d3e has no such checkpoint any more$",
    "holdfast session checkpoints": "^REVISION +KIND +STATUS +TURN ",
    "holdfast session cancel": "^4f1c2d3e will be closed when turn 4 ends$",
    "holdfast session cancel 4f1c2d3e --turn": "^4f1c2d3e has a cancel request: turn 4 shall end$",
    "holdfast session cancel --latest": "^4f1c2d3e has a cancel request: .*grep",
    "holdfast session close": "closed",
    "holdfast session delete": "^4f1c2d3e is deleted",
    "holdfast items list": r"(?m)^plan +\d+ +14 +draft:=true ",
    "holdfast items list --group-prefix": r"(?m)^shared +plan +\d+ +14 +draft:=true ",
    "holdfast --output jsonl items list": "^water the beds\n",
    "holdfast items get": "^water the beds$",
    "holdfast items get 4f1c2d3e plan todo": r"(?m)^plan .*\ntodo ",
    "holdfast --output json items get": r"^\d+\n$",
    "holdfast items put": r"^version +\d+\nexisted +yes\n$",
    "date | holdfast items put": r"^key +hex:[0-9a-f]{16}\nversion +\d+\nexisted +no\n$",
    "holdfast store status": r"(?m)^healthy +yes$",
    "holdfast --output json store status": r"^[0-9a-f-]{36}\n$",
    "holdfast --output json store describe": r'"store_id": "[0-9a-f-]{36}"',
    "holdfast store check": r"(?m)^writable +yes$",
    "holdfast store verify-audit": "^4f1c2d3e: all 8 audit records are as they were written",
    "holdfast replay": "3 sessions, .* 0 differences",
    "source <(holdfast completion bash)": "^$",
    "holdfast completion zsh": "^$",
    "holdfast completion fish": "^$",
}


def take_turn(stub, lease, number):
    """A turn with a tool use, a message and a slot."""
    from holdfast.v1 import session_pb2, turns_pb2

    turn = open_turn(stub, lease)
    said = f'{{"role": "user", "content": "words of turn {number}"}}'
    slot = session_pb2.Slot(
        owner=OWNER,
        version="1.0.0",
        drift_policy=session_pb2.DRIFT_POLICY_WARN,
        data=f"plan {number}".encode(),
    )
    stub.CommitTurn(
        turns_pb2.CommitTurnRequest(
            request_id=api.new_id(),
            turn=turn,
            last_entry=1,
            outcome=session_pb2.TURN_OUTCOME_OK,
            messages=[api.message(said.encode())],
            slots=[slot],
            **lease,
        )
    )


def open_turn(stub, lease):
    """Begins a turn in which the tool is being used; its number."""
    from holdfast.v1 import session_pb2, turns_pb2

    begun = stub.BeginTurn(api.begin(lease["session_id"], lease["lease_token"]))
    intent = session_pb2.JournalEntry(
        turn=begun.turn, number=1, kind=session_pb2.JOURNAL_KIND_TOOL_INTENT, ref=TOOL
    )
    stub.AppendJournal(turns_pb2.AppendJournalRequest(entries=[intent], **lease))
    return begun.turn


class Scene:
    """A server with the session of the examples, and a shell in the session's project."""

    def __init__(self, build, folder):
        self.server = Server(build, folder, "server", root=os.path.join(folder, "root"))
        self.project = os.path.join(folder, "project")
        os.mkdir(self.project)
        shutil.copy(CONVERSATION, os.path.join(self.project, RECORDINGS))
        with open(os.path.join(self.project, PLAN_FILE), "w", encoding="utf-8") as file:
            file.write(PLAN)
        search = os.path.join(build, "bin") + os.pathsep + os.environ["PATH"]
        self.variables = os.environ | {"PATH": search, "PWD": self.project, "NO_COLOR": "1"}

    def __enter__(self):
        self.server.start()
        self.variables["HOLDFAST_ADDRESS"] = self.server.address
        self._create()
        return self

    def __exit__(self, *_):
        self.server.kill()

    def _create(self):
        import grpc
        from holdfast.v1 import session_pb2, snapshots_pb2
        from holdfast.v1 import session_service_pb2 as rpc
        from holdfast.v1.item_service_pb2_grpc import ItemServiceStub
        from holdfast.v1.session_service_pb2_grpc import SessionServiceStub
        from holdfast.v1.store_service_pb2_grpc import StoreServiceStub

        channel = grpc.insecure_channel(self.server.address)
        self.stub = SessionServiceStub(channel)
        self.items = ItemServiceStub(channel)
        shared = api.create("shared")
        shared.kind, shared.group = session_pb2.SESSION_KIND_OPEN, "app/one"
        shared.ClearField("holder")
        self.stub.CreateSession(shared)
        write = snapshots_pb2.WriteSnapshotRequest(
            request_id=api.new_id(), session_id="shared", messages=[api.message(b"{}")]
        )
        StoreServiceStub(channel).WriteSnapshot(write)
        request = api.create(SESSION)
        request.manifest.project_root = self.project
        token = self.stub.CreateSession(request).lease_token
        lease = {"session_id": SESSION, "lease_token": token}
        for number in range(1, TURNS + 1):
            take_turn(self.stub, lease, number)
        self.stub.ReleaseLease(rpc.ReleaseLeaseRequest(request_id=api.new_id(), **lease))

    def put_items(self):
        """The items of the examples; each time new versions of them."""
        from holdfast.v1 import items_pb2

        labels = {"draft": items_pb2.Label(bool_value=True)}
        shared = {"collection": COLLECTION, "data": PLAN.encode(), "labels": labels}
        puts = [items_pb2.ItemPut(item=items_pb2.Item(key=key.encode(), **shared)) for key in KEYS]
        for session in (SESSION, "shared"):
            request = {"request_id": api.new_id(), "session_id": session}
            self.items.PutItems(items_pb2.PutItemsRequest(puts=puts, **request))

    def hold(self, *words):
        """A lease of the session, which its holder uses as the words say; the token."""
        words = ["session", "resume", SESSION, "--force", "test", *words]
        return self.server.answer(*words)["lease_token"]

    def prepare(self, example):
        """What must be so before an example."""
        if "session cancel" in example:
            open_turn(self.stub, {"session_id": SESSION, "lease_token": self.hold()})
        elif "--from" in example:
            token = self.hold()
            for number in range(MORE_TURNS):
                take_turn(self.stub, {"session_id": SESSION, "lease_token": token}, number)
        elif " items " in example:
            self.put_items()
        elif "--patience" in example:
            self.hold("--ttl", "5s")
        elif "$token" in example:
            self.variables["token"] = self.hold()
            self.variables["revision"] = self.server.answer("session", "show", SESSION)["revision"]
            if "$revision" in example:
                lease = {"session_id": SESSION, "lease_token": self.variables["token"]}
                take_turn(self.stub, lease, 0)
        elif "--verify-only" in example:
            self.type("holdfast replay --run nightly recordings.jsonl\n")

    def type(self, example):
        """What the example prints; Failed when it fails."""
        shell = ["bash", "-c", PRELUDE + example]
        place = {"cwd": self.project, "env": self.variables}
        if "session tail" in example and "--once" not in example:
            return first_line(shell, place)
        ended = run(shell, SECONDS, **place)
        words = f"`{example.strip()}` ended with {ended.returncode}: {ended.stdout}"
        expect(ended.returncode == 0, words)
        return ended.stdout


def first_line(command, place):
    """Of what continues until Ctrl-C, at a terminal, where programs such as jq write each line at
    once."""
    reader, writer = pty.openpty()
    shell = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **place,
    )
    try:
        readable, _, _ = select.select([reader], [], [], SECONDS)
        expect(readable, f"`{command[-1]}` prints nothing")
        with open(reader, encoding="utf-8") as terminal:
            line = terminal.readline()
            os.killpg(shell.pid, signal.SIGINT)
            shell.wait(SECONDS)
        return line.strip()
    finally:
        os.close(writer)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)


def examples_of(block):
    """Each command of a block; one that ends in a pipe continues."""
    return re.findall(r"(?:.*[|\\]\n)*.*\n", block)


def expect_promise(example, said):
    """The longest first words that are known decide."""
    found = [words for words in PROMISED if example.startswith(words)]
    expect(found, f"it is not said what `{example.strip()}` prints")
    wanted = PROMISED[max(found, key=len)]
    expect(re.search(wanted, said), f"`{example.strip()}` prints no `{wanted}`: {said}")


def check(build):
    """The examples of each command have a server of their own, and so has each of `cancel`, after
    which the session ends."""
    api.use_stubs(build)
    printed = Printed("docs.Reference.ExamplesRun")
    blocks = printed.take(PAGE, TITLE)
    printed.expect_all_taken()
    groups, problems = [], []
    for examples in map(examples_of, blocks):
        groups += [[one] for one in examples] if "cancel" in examples[0] else [examples]

    def check_group(examples):
        with Folder() as folder, Scene(build, folder) as scene:
            for example in examples:
                scene.prepare(example)
                try:
                    expect_promise(example, scene.type(example))
                except Failed as failed:
                    problems.append(str(failed))

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(check_group, groups))
    expect(not problems, "\n".join(problems))
    print(f"{sum(map(len, groups))} examples of {len(blocks)} commands")


def main():
    sys.stdout.reconfigure(line_buffering=True)
    return outcome("reference", lambda: check(os.path.abspath(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
