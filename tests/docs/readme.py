#!/usr/bin/env python3
"""Runs every ```sh block of README.md, in order, in a clean clone of what is committed.

What is not committed is not tested. The clone lies in a directory with a space in its name, and
another server may run on the default port.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def run_readme(folder):
    clone = os.path.join(folder, "clean clone")
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    with open(os.path.join(clone, "README.md"), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    if not blocks:
        print("readme: README.md has no block of sh")
        return 1
    for number, block in enumerate(blocks, 1):
        print(f"readme: block {number} of {len(blocks)}:\n{block}", flush=True)
        code = run(block, clone, os.environ)
        if code != 0:
            print(f"readme: block {number} failed with {code}")
            return 1
    return 0


def main():
    # Output of the blocks and of this script comes in one order.
    sys.stdout.reconfigure(line_buffering=True)
    if not trusted():
        return 1
    folder = tempfile.mkdtemp(prefix="holdfast readme ")
    try:
        return run_readme(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
