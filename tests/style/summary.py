#!/usr/bin/env python3
"""scripts/test-summary counts each case of a suite, and takes none for passed that did not end."""
import os
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

BEGIN = "[ RUN      ] {}\n"
PASSED = "[       OK ] {} (12 ms)\n"
FAILED = "[  FAILED  ] {}, where GetParam() = 4-byte object <00-00 00-00> (3 ms)\n"
SKIPPED = "a_test.cc:7: Skipped\nno such program\n\n[  SKIPPED ] {} (0 ms)\n"
END = "[----------] Global test environment tear-down\n"


def case(name, *lines):
    return BEGIN.format(name) + "".join(lines).format(name)


# The name of an entry of ctest, its status, its output, and lines of the summary.
SAMPLES = [
    (
        "unit.A",
        "run",
        case("A.One", "figure: 2 kills\n", PASSED) + case("A.Two", "no end of line ", PASSED) + END,
        ["2 kills", "tests: 2 passed, 0 failed, 0 skipped"],
    ),
    (
        "unit.Of/A#2",
        "fail",
        case("Of/A.One/x", PASSED)
        + case("Of/A.Two/y", FAILED)
        + END
        + FAILED.format("Of/A.Two/y"),
        ["failed: unit.Of/A.Two/y", "tests: 1 passed, 1 failed, 0 skipped"],
    ),
    (
        "unit.A",
        "fail",
        case("A.One", PASSED) + case("A.Two", "terminate called\n"),
        ["failed: unit.A.Two", "tests: 1 passed, 1 failed, 0 skipped"],
    ),
    (
        "unit.A",
        "fail",
        case("A.One", PASSED) + END + "a leak\n",
        ["failed: unit.A", "tests: 1 passed, 1 failed, 0 skipped"],
    ),
    (
        "unit.A",
        "run",
        case("A.One", SKIPPED) + END,
        ["skipped: unit.A.One: no such program", "tests: 0 passed, 0 failed, 1 skipped"],
    ),
    ("unit.A.One", "run", case("A.One", PASSED), ["tests: 1 passed, 0 failed, 0 skipped"]),
    ("style.rule", "run", "fine\n", ["tests: 1 passed, 0 failed, 0 skipped"]),
    ("style.rule", "fail", "not fine\n", ["tests: 0 passed, 1 failed, 0 skipped"]),
]


def summary(name, status, output, folder):
    """Lines of the summary of one entry."""
    path = os.path.join(folder, "results.xml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<testsuite><testcase name="{name}" time="1" status="{status}">')
        file.write(f"<system-out>{escape(output)}</system-out></testcase></testsuite>")
    script = os.path.join(ROOT, "scripts", "test-summary")
    environment = {"PATH": os.environ["PATH"]}
    ran = subprocess.run(
        [script, path], capture_output=True, text=True, env=environment, check=False
    )
    return ran.returncode, ran.stdout.splitlines()


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, status, output, wanted in SAMPLES:
            code, lines = summary(name, status, output, folder)
            missing = [line for line in wanted if line not in lines]
            if missing or code != (1 if status == "fail" else 0):
                print(f"{name}: ended with {code}, said {lines}, not {missing}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
