#!/usr/bin/env python3
"""Every model of docs/model within its full bounds, and every saboteur: long.py BUILD_DIRECTORY."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    ran = subprocess.run(
        [os.path.join(ROOT, "scripts", "model")], stdout=subprocess.PIPE, text=True, check=False
    )
    for line in ran.stdout.splitlines():
        print(f"report: {line}")
    print(f"figure: {ran.stdout.count('refuted')} mutants caught")
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
