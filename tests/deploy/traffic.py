"""Traffic of a drill: replays of generated conversations, whose logs say what was acknowledged, and
what a restored store must answer for it."""
import concurrent.futures
import json
import os
import random
import re
import signal
import subprocess
import time

from programs import ROOT, Failed, done, expect, wait_for

SEED = 20
PATIENCE = "60s"
# (conversations, turns, bytes of a message, pause between turns). Small messages make journals of
# many changes, large ones make sessions rotate every few turns. The last one lasts two minutes, so
# that something is written whenever a slow machine comes to the end of the servers.
SHAPES = [(4, 100, 400, "40ms"), (2, 40, 120_000, "80ms"), (1, 200, 100, "600ms")]


def write_conversations(folder):
    """A file of conversations for each shape."""
    source, paths = random.Random(SEED), []
    for number, (conversations, turns, size, _) in enumerate(SHAPES):
        path = os.path.join(folder, f"shape-{number}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for index in range(conversations):
                messages = []
                for turn in range(turns):
                    for role in ("user", "assistant"):
                        filler = source.randbytes(size // 2).hex()
                        messages.append({"role": role, "content": f"{turn} {role} {filler}"})
                file.write(json.dumps({"id": f"s{number}-{index}", "messages": messages}) + "\n")
        paths.append(path)
    return paths


class Traffic:
    """Replays against any of several addresses, one replay for each file of conversations."""

    def __init__(self, cli, folder):
        self.cli, self.files = cli, write_conversations(folder)
        self.logs = [path + ".log" for path in self.files]
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _command(self, number, addresses, *words):
        address = addresses[number % len(addresses)]
        replay = [self.cli, "--address", address, "replay", "--run", "drill", "--parallel", "8"]
        return replay + ["--patience", PATIENCE, *words, self.files[number]]

    def start(self, addresses):
        for number, log in enumerate(self.logs):
            command = self._command(number, addresses, "--log", log, "--pace", SHAPES[number][3])
            self.processes.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )

    def expect_running(self):
        expect(self.processes[-1].poll() is None, "the last replay ended: give it more to do")

    def kill(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        self.processes = []

    def acknowledged(self):
        """session -> the highest revision that was acknowledged until now."""
        found = {}
        for path in self.logs:
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n") and '"event":"ack"' in line:
                        note = json.loads(line)
                        session, revision = note["session"], note["revision"]
                        found[session] = max(found.get(session, 0), revision)
        return found

    def await_acknowledged(self, revisions):
        """Waits for that many more acknowledged revisions in all, and some of every session."""
        before = sum(self.acknowledged().values())
        sessions = sum(shape[0] for shape in SHAPES)

        def enough():
            self.expect_running()
            found = self.acknowledged()
            return len(found) == sessions and sum(found.values()) >= before + revisions

        wait_for("traffic", enough)

    def finish(self, addresses):
        """Goes on with every conversation to its end; each message is there exactly once."""
        commands = [
            self._command(number, addresses, "--verify") for number in range(len(self.files))
        ]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answers = list(pool.map(done, commands))
        for (conversations, turns, _, _), said in zip(SHAPES, answers, strict=True):
            counts = re.search(r"(\d+) sessions, .* (\d+) messages, (\d+) differences", said)
            wanted = (str(conversations), str(conversations * turns * 2), "0")
            expect(counts and counts.groups() == wanted, f"the replay says: {said}")


def within_objective(began):
    """The recovery time objective that docs/operations.md states holds for a restore that began
    then and is served now."""
    with open(os.path.join(ROOT, "docs", "operations.md"), encoding="utf-8") as file:
        stated = re.search(r"RTO is (\d+) s and", file.read())
    took = time.monotonic() - began
    expect(stated, "docs/operations.md states no RTO")
    expect(took <= int(stated[1]), f"a restore took {took:.1f} s, and the RTO is {stated[1]} s")
    print(f"serves again {took:.2f} s after the restore began")


def reason(process):
    """Of a refused `holdfast --output json`."""
    if process.returncode not in (1, 4):  # 4: the store is behind what the caller knows
        raise Failed(f"it was not refused: exit {process.returncode}, {process.stdout}")
    return json.loads(process.stdout)["reason"]


def expect_restored(server, before, known):
    """Of a server over a restored store: what was acknowledged `before` the backup is there, and a
    client with a later revision is refused. Returns the number of sessions that lost something."""
    rows = server.answer("session", "list", "--limit", "0")["sessions"]
    stored = {row["session_id"]: row for row in rows}
    for session, revision in before.items():
        expect(session in stored, f"{session} is missing")
        row = stored[session]
        expect(row["condition"] == "CONDITION_OK", f"{session} has {row['condition']}")
        expect(
            int(row["revision"]) >= revision,
            f"{session} is at revision {row['revision']}, and {revision} was acknowledged",
        )
        for words in (["store", "verify-audit"], ["session", "tail", "--once"]):
            read = server.client(*words, session)
            expect(read.returncode == 0, f"{' '.join(words)} {session}: {read.stdout[-500:]}")
    behind = [
        session for session in stored if known.get(session, 0) > int(stored[session]["revision"])
    ]
    for session in behind:
        words = ["session", "resume", session, "--known-revision", str(known[session])]
        refused = server.client("--output", "json", *words, "--force", "drill")
        expect(reason(refused) == "REVISION_AHEAD", f"{session}: {refused.stdout}")
    return len(behind)
