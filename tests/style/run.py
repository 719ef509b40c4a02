#!/usr/bin/env python3
"""Checks the project against one of its style rules: run.py RULE [BUILD_DIRECTORY], run.py --list.

Before a rule is applied to the project it must refuse every bad sample made for it and accept
every good one.
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the project's directory stays as it was
import batches  # noqa: E402
import commands  # noqa: E402
import decisions  # noqa: E402
import diagrams  # noqa: E402
import documents  # noqa: E402
import questions  # noqa: E402
import rules  # noqa: E402
import terms  # noqa: E402
from batch_samples import BATCH_SAMPLES  # noqa: E402
from command_samples import COMMAND_SAMPLES  # noqa: E402
from decision_samples import DECISION_SAMPLES  # noqa: E402
from diagram_samples import DIAGRAM_SAMPLES  # noqa: E402
from document_samples import DOCUMENT_SAMPLES  # noqa: E402
from question_samples import QUESTION_SAMPLES  # noqa: E402
from rules import Tree  # noqa: E402
from samples import SAMPLES  # noqa: E402
from term_samples import TERM_SAMPLES  # noqa: E402

MODULES = (rules, batches, documents, decisions, questions, diagrams, terms, commands)
RULES = {name: rule for module in MODULES for name, rule in module.RULES.items()}
SAMPLES |= DOCUMENT_SAMPLES | DECISION_SAMPLES | QUESTION_SAMPLES | DIAGRAM_SAMPLES | TERM_SAMPLES
SAMPLES |= BATCH_SAMPLES | COMMAND_SAMPLES

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def write(root, path, content):
    target = os.path.join(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(content)


def sample_tree(root, files):
    compiled = files.get("compile", [])
    for path, content in files.items():
        if path != "compile":
            write(root, path, content)
    commands = os.path.join(root, "build", "compile_commands.json")
    write(root, commands, json.dumps([{"directory": root, "file": path} for path in compiled]))
    return Tree(root, commands)


def self_check(name):
    """What is wrong with the rule itself."""
    for files, expected in SAMPLES[name]:
        with tempfile.TemporaryDirectory() as root:
            found = list(RULES[name](sample_tree(root, files)))
        if expected is None and found:
            yield f"the rule refuses a good sample {files}: {found}"
        if expected is not None and not any(expected in violation for violation in found):
            yield f"the rule lets a bad sample pass {files}: found {found}, not '{expected}'"
    if not any(expected for _, expected in SAMPLES[name]):
        yield "the rule has no bad sample"


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(RULES))
        return 0
    name = sys.argv[1]
    build = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "build")
    problems = list(self_check(name))
    problems += RULES[name](Tree(ROOT, os.path.join(build, "compile_commands.json")))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
