#!/usr/bin/env python3
"""Each command line between backticks in a Markdown file, and in the chart's notes, is one that the
program takes: its subcommand, its flags and the names behind them exist.

    tests/docs/inline.py BUILD_DIRECTORY

The programs of the build say what they take in a page of help for each command, scripts in their
first comment.
"""
import functools
import os
import re
import shlex
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "style"):
    sys.path.append(os.path.join(HERE, "..", folder))

from commands import ctests  # noqa: E402
from inventory import FENCE  # noqa: E402
from programs import ROOT, done, expect, outcome, run  # noqa: E402
from rules import Tree  # noqa: E402

SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")  # it may be continued on the next line
NOTES = "helm/holdfast/templates/_notes.tpl"
NOTE = re.compile(r"^.*?\b(?:then|serve): (.*)$", re.MULTILINE)
PLACE = re.compile(r"\{\{[^}]*\}\}")
VARIABLE = re.compile(r"^[A-Z_]+=")
FLAG = re.compile(r"--[a-z][a-z-]*")
BACKUP = {"files.py": "deploy/backup/files.py", "postgres.py": "deploy/backup/postgres.py"}
# Text that begins as a command does: first words -> what it is.
NO_COMMAND = {
    "holdfastd ready:": "what the server prints",
    "holdfastd listener": "the name of a connection",
    "holdfastd notifier": "the name of a connection",
}
LEAST = 100  # commands that the documents name


class Wrong(Exception):
    """Why a program does not take a command line."""


def require(condition, problem):
    if not condition:
        raise Wrong(problem)


class Pages:
    """What a program takes whose every command has a page of help."""

    def __init__(self, program):
        self.program = program

    @functools.lru_cache(maxsize=None)
    def _page(self, path):
        """The subcommands and the flags (with whether a value follows) of a command."""
        text = done([self.program, *path, "--help"])
        commands = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
        names = re.findall(r"^  ([a-z][a-z-]*) ", commands[1], re.MULTILINE) if commands else []
        found = re.findall(r"^  (?:-\w,)?(--[a-z-]+)( [A-Z]+\S*)?", text, re.MULTILINE)
        flags = {flag: bool(value) and "Excludes" not in value for flag, value in found}
        inherited = re.findall(r"^(--[a-z-]+) goes with every command", text, re.MULTILINE)
        return names, flags, {flag: flags[flag] for flag in inherited}

    def check(self, words):
        path, more, left = (), {}, [word.strip("[]") for word in words]
        while left:
            names, flags, inherited = self._page(path)
            more = more | inherited
            word = left.pop(0)
            if word.startswith("-"):
                flag = word.split("=")[0]
                known = flags | more
                require(flag in known or flag == "-h", f"no flag {flag} of {' '.join(path)}")
                if known.get(flag) and "=" not in word:
                    left = left[1:]
            elif names:
                require(word in names or word == "COMMAND", f"no command {word}")
                if word == "COMMAND":
                    return
                path += (word,)
            else:
                usage = done([self.program, *path, "--help"])
                require("Positionals:" in usage, f"{' '.join(path)} takes no `{word}`")


class Backup:
    """What a script of deploy/backup takes, by argparse's help."""

    def __init__(self, name):
        self.program = ["/usr/bin/python3", os.path.join(ROOT, name)]

    def check(self, words):
        if not words or words[0].startswith("-"):
            require(set(words) <= {"--help"}, f"no flag {words}")
            return
        command, *more = words
        help_text = run([*self.program, command, "--help"])
        require(help_text.returncode == 0, f"no command {command}")
        for word in more:
            if word.startswith("--"):
                require(re.search(rf"{word}\b", help_text.stdout), f"no flag {word} of {command}")


class Script:
    """What one of scripts/ takes, by its first comment."""

    def __init__(self, name, names):
        self.name, self.names = name, names
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text = file.read()
        comment = re.match(r'(?:#[^\n]*\n)+(?:""".*?""")?', text, re.DOTALL)
        self.usage = comment[0]

    def check(self, words):
        for word in words:
            if FLAG.match(word) and "[OPTION...]" not in self.usage:
                require(FLAG.match(word)[0] in self.usage, f"{self.name} has no {word}")
        known = self.names.get(self.name)
        if known is None:
            return
        for word in known.arguments(words):
            require(known.has(word), f"{self.name} knows no {word}")


class TestNames:
    """Of `scripts/test`: a regular expression on the names of ctest."""

    def __init__(self):
        tree = Tree(ROOT)
        self.names = list(ctests(tree))
        for _, text in tree.select(["*.cmake"]):
            self.names += re.findall(r"add_test\(NAME (\S+)", text)

    def arguments(self, words):
        """Placeholders are in capitals."""
        plain = [word.strip("[].") for word in words]
        valued = [plain[at + 1] for at, word in enumerate(plain[:-1]) if word == "--preset"]
        plain = [word for word in plain if not word.startswith("--") and word not in valued]
        return [word for word in plain if word and not word.isupper()]

    def has(self, word):
        return any(re.search(word, name) for name in self.names)


class BenchNames(TestNames):
    """Of `scripts/bench`: the figures, by their list."""

    def __init__(self, program):
        self.names = done([program, "--list"]).split()

    def has(self, word):
        return word in self.names


class Programs:
    def __init__(self, build):
        binary = functools.partial(os.path.join, os.path.abspath(build), "bin")
        self.known = {name: Pages(binary(name)) for name in ("holdfast", "holdfastd")}
        names = {"scripts/test": TestNames(), "scripts/bench": BenchNames(binary("holdfast-bench"))}
        for name in os.listdir(os.path.join(ROOT, "scripts")):
            if not name.endswith(".txt"):
                self.known[f"scripts/{name}"] = Script(f"scripts/{name}", names)
        for short, path in BACKUP.items():
            self.known[short] = self.known[path] = Backup(path)

    def command(self, span):
        """The program and its arguments, if the text is a command line of one that is known."""
        if any(span.startswith(words) for words in NO_COMMAND):
            return None
        try:
            words = shlex.split(span, comments=True)
        except ValueError:
            return None
        while words and VARIABLE.match(words[0]):
            words = words[1:]
        name = words[0] if words else ""
        name = name.removeprefix("build-release/bin/").removeprefix("build/bin/")
        if re.match(r"scripts/\w", name):
            return name, words[1:]
        return (name, words[1:]) if name in self.known else None

    def problem(self, span):
        """Why the text is no command that can be typed; None if it is one."""
        name, words = self.command(span)
        ends = [at for at, word in enumerate(words) if re.fullmatch(r"[|<>;&]+.*", word)]
        words = words[: ends[0]] if ends else words
        if name not in self.known:
            return f"there is no {name}"
        try:
            self.known[name].check([word for word in words if word not in ("...", "…")])
        except Wrong as wrong:
            return str(wrong)
        return None


def spans(tree):
    """(place, text) of all texts that may be commands."""
    for path, text in tree.select(["*.md"]):
        plain = FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)
        for found in SPAN.finditer(plain):
            line = plain.count("\n", 0, found.start()) + 1
            yield f"{path}:{line}", found[1].replace("\\|", "|")
    for found in NOTE.finditer(tree.texts[NOTES]):
        yield NOTES, PLACE.sub("1", found[1])


# What must be refused, and why.
WRONG = {
    "holdfast sessions list": "no command sessions",
    "holdfast session shows ID": "no command shows",
    "holdfast session show ID --tail 3": "no flag --tail",
    "holdfast --adress HOST:PORT health": "no flag --adress",
    "holdfast health now": "takes no `now`",
    "holdfastd migrate --state": "no flag --state",
    "holdfastd adopt --config FILE": "no command adopt",
    "holdfastd --config FILE --verbose": "no flag --verbose",
    "scripts/tests --long": "there is no scripts/tests",
    "scripts/test --longer": "scripts/test has no --longer",
    "scripts/test --long LongAbsence": "knows no LongAbsence",
    "scripts/bench commit-none": "knows no commit-none",
    "files.py save ROOT BACKUP": "no command save",
    "files.py check BACKUP --program DIR": "no flag --program ",
    "HOLDFAST_JOBS=1 scripts/build --presets dev": "scripts/build has no --presets",
}


def check(build):
    programs = Programs(build)
    for wrong, words in WRONG.items():
        said = programs.problem(wrong)
        expect(said and words.strip() in said, f"`{wrong}` passes: {said}")
    found = [(place, span) for place, span in spans(Tree(ROOT)) if programs.command(span)]
    refused = [(place, span, programs.problem(span)) for place, span in found]
    problems = [f"{place}: `{span}`: {why}" for place, span, why in refused if why]
    expect(not problems, "\n".join(problems))
    expect(len(found) >= LEAST, f"the documents name {len(found)} commands")
    print(f"{len(found)} commands in prose, {len(WRONG)} wrong ones refused")


def main():
    return outcome("inline", lambda: check(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
