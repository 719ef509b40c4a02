#!/usr/bin/env python3
"""Runs a part of docs/guide.md as it is printed against a real server.

    tests/docs/guide.py grpcurl|python|typescript BUILD_DIRECTORY

The blocks of one part are one program. Its first agent kills itself in a turn; a second process
resumes the session. Afterwards the server has the one turn of each part once.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import uuid

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import golang  # noqa: E402
from api import PROTOS  # noqa: E402
from examples import Server, install_typescript, run  # noqa: E402
from inventory import Printed  # noqa: E402
from programs import ROOT, expect  # noqa: E402

GUIDE = "docs/guide.md"
HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESS = "127.0.0.1:7420"  # in the text
SECONDS = 120


def blocks(printed, part, language):
    """The blocks in a language below the heading of a part."""
    found = printed.take(GUIDE, part, language)
    expect(len(found) >= 6, f"{part} has {len(found)} blocks of {language}")
    return found


def write(folder, name, texts, address):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(texts).replace(ADDRESS, address))
    return path


def finish(command, wanted, **options):
    """Runs a command, which must end with the code `wanted`."""
    print("guide:", " ".join(command), flush=True)
    ended = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False, **options
    )
    print(ended.stdout[-4000:], flush=True)
    expect(ended.returncode == wanted, f"it ended with {ended.returncode}, not {wanted}")
    return ended.stdout


def run_grpcurl(_build, folder, address, printed):
    program = golang.program(
        os.path.join(HERE, "grpcurl"),
        "grpcurl",
        package="github.com/fullstorydev/grpcurl/cmd/grpcurl",
    )
    os.symlink(program, os.path.join(folder, "grpcurl"))
    texts = ["set -euo pipefail", *blocks(printed, "grpcurl", "sh"), 'echo "$session"']
    script = write(folder, "guide.sh", texts, address)
    search = os.pathsep.join([folder, os.environ["PATH"]])
    output = finish(["bash", script], 0, env=os.environ | {"PATH": search})
    expect("SessionResumeStarted" in output, "the watch has shown no resume")
    return output.split()[-1]


def make_stubs(folder, printed):
    """The folder of the stubs, made as the text says, in a clone with no more than the protos."""
    clone = os.path.join(folder, "clone")
    os.makedirs(clone)
    os.symlink(PROTOS, os.path.join(clone, "protos"))
    (block,) = printed.take(GUIDE, "Python")
    shown = block + 'echo "$PYTHONPATH"'
    said = finish(["bash", "-euo", "pipefail", "-c", shown], 0, cwd=clone)
    return os.path.join(clone, said.split()[-1])


def run_python(_build, folder, address, printed):
    texts = blocks(printed, "Python", "python")
    again = [number for number, text in enumerate(texts) if "ResumeSession(" in text][0]
    session = f"guide-python-{uuid.uuid4()}"
    environment = os.environ | {"PYTHONPATH": make_stubs(folder, printed), "SESSION": session}
    options = {"env": environment, "cwd": ROOT}
    first = write(folder, "first.py", texts[:again], address)
    finish([sys.executable, first], -signal.SIGKILL, **options)
    # The imports, the stub and the names of the first block.
    second = write(folder, "second.py", [texts[0], *texts[again:]], address)
    finish([sys.executable, second], 0, **options)
    return session


def run_typescript(build, folder, address, printed):
    installed = install_typescript(build)
    texts = blocks(printed, "TypeScript", "typescript")
    source = write(installed, "guide.ts", texts, address)
    compiled = os.path.join(installed, "dist-guide")
    checks = ["--strict", "--esModuleInterop", "--target", "es2022", "--module", "commonjs"]
    run(["npx", "tsc", *checks, "--types", "node", "--outDir", compiled, source], cwd=installed)
    session = f"guide-typescript-{uuid.uuid4()}"
    environment = os.environ | {"PROTOS": PROTOS, "SESSION": session}
    command = ["node", os.path.join(compiled, "guide.js")]
    finish(command, -signal.SIGKILL, env=environment, cwd=folder)
    finish(command, 0, env=environment | {"AGENT": "second"}, cwd=folder)
    return session


def check_session(build, address, session):
    """The session is closed and has its one committed message."""
    program = os.path.join(build, "bin", "holdfast")
    shown = finish([program, "--address", address, "session", "show", session], 0)
    expect(re.search(r"closed", shown, re.IGNORECASE), "the session is not closed")
    expect(re.search(r"messages\s+1\b", shown), "the session has not one message")


def main():
    part, build = sys.argv[1], os.path.abspath(sys.argv[2])
    parts = {"grpcurl": run_grpcurl, "python": run_python, "typescript": run_typescript}
    with tempfile.TemporaryDirectory(prefix="holdfast guide ") as folder:
        server = Server(os.path.join(build, "bin", "holdfastd"), folder)
        try:
            server.start()
            printed = Printed(f"docs.Guide.{part}")
            session = parts[part](build, folder, server.address, printed)
            printed.expect_all_taken()
            check_session(build, server.address, session)
        finally:
            server.kill()


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
