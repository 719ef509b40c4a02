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
from api import PROTOS, generate_stubs  # noqa: E402
from examples import Server, install_typescript, run  # noqa: E402
from programs import ROOT, expect  # noqa: E402

GUIDE = os.path.join(ROOT, "docs", "guide.md")
HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESS = "127.0.0.1:7420"  # in the text
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 120


def blocks(part, language):
    """(heading, text) of the blocks in a language below the heading of a part."""
    with open(GUIDE, encoding="utf-8") as file:
        text = file.read()
    (section,) = re.findall(rf"^## {part}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found = []
    for piece in re.split(r"^### ", section, flags=re.MULTILINE):
        heading = piece.split("\n", 1)[0]
        found += [(heading, body) for name, body in BLOCK.findall(piece) if name == language]
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


def run_grpcurl(_build, folder, address):
    program = golang.program(
        os.path.join(HERE, "grpcurl"),
        "grpcurl",
        package="github.com/fullstorydev/grpcurl/cmd/grpcurl",
    )
    os.symlink(program, os.path.join(folder, "grpcurl"))
    texts = ["set -euo pipefail", *(body for _, body in blocks("grpcurl", "sh")), 'echo "$session"']
    script = write(folder, "guide.sh", texts, address)
    search = os.pathsep.join([folder, os.environ["PATH"]])
    output = finish(["bash", script], 0, env=os.environ | {"PATH": search})
    expect("SessionResumeStarted" in output, "the watch has shown no resume")
    return output.split()[-1]


def run_python(_build, folder, address):
    stubs = os.path.join(folder, "stubs")
    generate_stubs(stubs)
    found = blocks("Python", "python")
    again = [number for number, (heading, _) in enumerate(found) if heading.startswith("Resume")][0]
    texts = [body for _, body in found]
    session = f"guide-python-{uuid.uuid4()}"
    environment = os.environ | {"PYTHONPATH": stubs, "SESSION": session}
    options = {"env": environment, "cwd": ROOT}
    first = write(folder, "first.py", texts[:again], address)
    finish([sys.executable, first], -signal.SIGKILL, **options)
    # The imports, the stub and the names of the first block.
    second = write(folder, "second.py", [texts[0], *texts[again:]], address)
    finish([sys.executable, second], 0, **options)
    return session


def run_typescript(build, folder, address):
    installed = install_typescript(build)
    texts = [body for _, body in blocks("TypeScript", "typescript")]
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
            session = parts[part](build, folder, server.address)
            check_session(build, server.address, session)
        finally:
            server.kill()


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
