#!/usr/bin/env python3
"""Fuzzes targets with clang's libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.

    tests/fuzz/long.py [--seconds N] [TARGET...]      # without a target: all of them, a minute each

Builds the preset `fuzz` first. What a run finds lies in build-fuzz/findings/TARGET; it becomes a
seed when it is fixed.
"""
import argparse
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = os.path.join(ROOT, "tests", "fuzz", "seeds")
BUILD = os.path.join(ROOT, "build-fuzz")
MEMORY_MIB = 2048
SECONDS_PER_INPUT = 25
LONGEST_INPUT = 65536


def fuzz(target, seconds):
    corpus = os.path.join(BUILD, "corpus", target)
    findings = os.path.join(BUILD, "findings", target) + os.sep
    shutil.rmtree(findings, ignore_errors=True)
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(findings)
    command = [
        os.path.join(BUILD, "bin", f"fuzz_{target}"),
        f"-max_total_time={seconds}",
        f"-rss_limit_mb={MEMORY_MIB}",
        f"-timeout={SECONDS_PER_INPUT}",
        f"-max_len={LONGEST_INPUT}",
        f"-artifact_prefix={findings}",
        "-print_final_stats=1",
        corpus,
        os.path.join(SEEDS, target),
    ]
    print(f"fuzz: {target} for {seconds} s", flush=True)
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("targets", nargs="*", default=sorted(os.listdir(SEEDS)))
    arguments = parser.parse_args()
    subprocess.run([os.path.join(ROOT, "scripts", "deps"), "fuzz"], check=True)
    programs = [f"fuzz_{target}" for target in arguments.targets]
    build = [os.path.join(ROOT, "scripts", "build"), "--preset", "fuzz", *programs]
    subprocess.run(build, check=True)
    failed = [name for name in arguments.targets if fuzz(name, arguments.seconds) != 0]
    print(f"fuzz: failed: {' '.join(failed) or 'nothing'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
