#!/usr/bin/env python3
"""Measures backup and restore of a larger store of each kind: seconds for each step, as a table.

    tests/deploy/measure.py BUILD_DIRECTORY

Some minutes and 4 GB in /tmp on two cores. It checks no figure; docs/operations.md has them.
"""
import json
import os
import random
import shutil
import sys
import time

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from drill_files import SCRIPT, adopt
from drill_postgres import Scene
from programs import CONVERSATION, Folder, Postgres, Server, done

LARGE = (20, 100, 120_000)  # conversations, turns, bytes of a message
SMALL_REPEATS = 1000  # of each conversation of the tests' recording


def fill(server, folder):
    """Drives the conversations; the number of sessions."""
    source, path = random.Random(1), os.path.join(folder, "large.jsonl")
    conversations, turns, size = LARGE
    with open(path, "w", encoding="utf-8") as file:
        for index in range(conversations):
            messages = [
                {"role": role, "content": source.randbytes(size // 2).hex()}
                for _ in range(turns)
                for role in ("user", "assistant")
            ]
            file.write(json.dumps({"id": f"large-{index}", "messages": messages}) + "\n")
    replay = [server.cli, "--address", server.address, "replay", "--run", "m", "--parallel", "16"]
    done(replay + [path], seconds=3600)
    done(replay + ["--repeat", str(SMALL_REPEATS), CONVERSATION], seconds=3600)
    os.remove(path)


class Steps:
    """The seconds of each step, printed as it ends."""

    def __init__(self, kind):
        self.kind = kind

    def take(self, step, act):
        began = time.monotonic()
        found = act()
        print(f"| {self.kind} | {step} | {time.monotonic() - began:.1f} s |", flush=True)
        return found


def size_of(path):
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    )


def measure_files(build):
    steps = Steps("files")
    with Folder() as folder:
        root, backup = os.path.join(folder, "root"), os.path.join(folder, "backup")
        with Server(build, folder, "server", root=root) as server:
            fill(server.start(), folder)
            steps.take("backup", lambda: done(SCRIPT + ["backup", root, backup], seconds=3600))
        print(f"backup of {size_of(backup) / 2**30:.2f} GiB")
        shutil.rmtree(root)
        steps.take("restore", lambda: done(SCRIPT + ["restore", backup, root], seconds=3600))
        with Server(build, folder, "server", root=root) as server:
            steps.take("adopt", lambda: adopt(build, server))
            steps.take("start", server.start)
        check = ["check", backup, "--scratch", folder, "--programs", os.path.join(build, "bin")]
        steps.take("check", lambda: done(SCRIPT + check, seconds=3600))


def measure_postgres(build):
    steps = Steps("PostgreSQL")
    with Folder() as folder:
        scene = Scene(build, folder)
        backups = scene.directory("backups")
        dump, base = os.path.join(backups, "dump"), os.path.join(backups, "base")
        with Postgres(scene.directory("primary")) as primary:
            primary.start().sql("postgres", "CREATE DATABASE holdfast")
            dsn = ["--dsn", primary.dsn("holdfast")]
            scene.holdfastd(primary, "migrate")
            with scene.server("server", primary) as server:
                fill(server.start(), folder)
                steps.take("dump", lambda: scene.script("dump", dump, *dsn))
                steps.take("base", lambda: scene.script("base", base, *dsn))
        print(f"dump of {size_of(dump) / 2**30:.2f} GiB, base of {size_of(base) / 2**30:.2f} GiB")
        shutil.rmtree(primary.folder)
        second = os.path.join(scene.directory("second"), "data")
        words = ["restore-base", base, second, "--programs", scene.programs]
        steps.take("restore-base", lambda: scene.script(*words))
        with Postgres(os.path.dirname(second)) as postgres:
            steps.take("start", postgres.start)
        shutil.rmtree(os.path.dirname(second))
        with Postgres(scene.directory("third")) as third:
            third.start().sql("postgres", "CREATE DATABASE holdfast")
            words = ["restore-dump", dump, "--dsn", third.dsn("holdfast")]
            steps.take("restore-dump", lambda: scene.script(*words))
            steps.take("adopt", lambda: scene.holdfastd(third, "store", "adopt"))


if __name__ == "__main__":
    measure_files(os.path.abspath(sys.argv[1]))
    measure_postgres(os.path.abspath(sys.argv[1]))
