#!/usr/bin/env python3
"""Runs the blocks of README.md, in order, in a clean clone of what is committed. The block that
needs the image is left to tests/walks.

What is not committed is not tested. The clone lies in a directory with a space in its name, and
another server may run on the default port.

The block that is typed by hand is run once more while its first server still has the directory: it
must fail, say why, and call no server.

    tests/docs/readme.py [--second-paste BUILD_DIRECTORY]

With the option only that, of the README as it is, with the programs of a build.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import programs  # noqa: E402
from inventory import Printed  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PASTE_SECONDS = 60
SHELL = ["bash", "-euo", "pipefail", "-c"]

# A block that the runner must fail, or let pass, before it is trusted with the README's.
BAD_SAMPLES = ["false\ntrue\n", "false | true\n", "echo $is_not_set\n", "exit 3\n"]
GOOD_SAMPLE = "true | cat\nfalse || true\n"


def run(block, folder, environment):
    """The block's exit code. Whatever it has left running ends with it."""
    shell = subprocess.Popen(
        SHELL + [block],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return shell.wait()
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # nothing is left


def trusted():
    with tempfile.TemporaryDirectory() as folder:
        for sample in BAD_SAMPLES:
            if run(sample, folder, os.environ) == 0:
                print(f"readme: a block that must fail passes: {sample!r}")
                return False
        if run(GOOD_SAMPLE, folder, os.environ) != 0:
            print(f"readme: a block that must pass fails: {GOOD_SAMPLE!r}")
            return False
    return True


def second_paste(folder, block):
    """Whether the block fails loudly in `folder`, whose build-release/bin has the programs, while
    another server has its directory, and calls no server then."""
    here = os.path.join(folder, "build-release", "quick-start")
    os.makedirs(here, exist_ok=True)
    config = os.path.join(here, "first.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write('server: {address: "127.0.0.1:0"}\n')
    called = os.path.join(here, "called")
    program = os.path.join(folder, "build-release", "bin", "holdfast")
    os.remove(program)
    with open(program, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho "$HOLDFAST_ADDRESS" "$@" >>"{called}"\n')
    os.chmod(program, 0o755)
    command = [os.path.join(folder, "build-release", "bin", "holdfastd"), "--config", config]
    log = os.path.join(here, "first.log")
    first = programs.Serving(command, log, env=os.environ | {"XDG_STATE_HOME": here})
    try:
        # As an interactive shell takes it, which goes on behind a command that fails, and still
        # goes on with what is typed next.
        typed = f"{block}echo \"ended with $?\"\n"
        shell = programs.run(["bash", "-c", typed], PASTE_SECONDS, cwd=folder)
        print(f"readme: pasted twice it says:\n{shell.stdout}", flush=True)
        loud = "is serving it already" in shell.stdout and shell.stdout.endswith("ended with 1\n")
        if os.path.exists(called):
            with open(called, encoding="utf-8") as file:
                print(f"readme: pasted twice it calls a server: {file.read()}")
            return False
        return loud
    finally:
        first.kill()


def blocks_of(folder):
    """What README.md in the folder says to type: the demonstration, and the commands by hand."""
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        text = file.read()
    printed = Printed("docs.Readme.BlocksRun")
    words = ("scripts/run", "build-release/quick-start")
    found = [printed.take("README.md", "Quick start", "sh", word, text) for word in words]
    printed.expect_all_taken()
    return [block for blocks in found for block in blocks]


def second_paste_of_build(build):
    *_, block = blocks_of(ROOT)
    with tempfile.TemporaryDirectory(prefix="holdfast readme ") as folder:
        programs = os.path.join(folder, "build-release", "bin")
        os.makedirs(programs)
        for name in ("holdfastd", "holdfast"):
            os.symlink(os.path.join(build, "bin", name), os.path.join(programs, name))
        return second_paste(folder, block)


def run_readme(folder):
    clone = os.path.join(folder, "clean clone")
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    found = blocks_of(clone)
    for number, block in enumerate(found, 1):
        print(f"readme: block {number} of {len(found)}:\n{block}", flush=True)
        code = run(block, clone, os.environ)
        if code != 0:
            print(f"readme: block {number} failed with {code}")
            return 1
    if not second_paste(clone, found[-1]):
        print("readme: a second paste does not fail as it should")
        return 1
    return 0


def main():
    # Output of the blocks and of this script comes in one order.
    sys.stdout.reconfigure(line_buffering=True)
    if sys.argv[1:2] == ["--second-paste"]:
        return 0 if second_paste_of_build(os.path.abspath(sys.argv[2])) else 1
    if not trusted():
        return 1
    folder = tempfile.mkdtemp(prefix="holdfast readme ")
    try:
        return run_readme(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
