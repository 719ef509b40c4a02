#!/usr/bin/env python3
"""Mutates the source as one saboteur says, and requires its tests to fail.

    tests/saboteurs/run.py NAME BUILD_DIRECTORY
    tests/saboteurs/run.py --list [PRESET]
    tests/saboteurs/run.py --check

What is mutated is compiled with the commands of the build and linked in front of the libraries, in
BUILD_DIRECTORY/saboteurs/NAME, which stays there when something is not as it must be. A source of a
batch is compiled alone first, which takes a fifth of the time. Functions that the compiler inlined
into the rest of the batch stay as they were, so where no test sees that, the whole batch is
compiled. The build must be of the sources as they are. Each test must pass without the mutation:
seen here, unless $HOLDFAST_TESTS_PASSED says that every ordinary test has just passed. --list
prints the names for the build preset, --check looks whether the sources have every text that is to
be mutated. entries.py says what an entry is.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import entries  # noqa: E402
from compile_commands import commands_in  # noqa: E402
from entries import ROOT  # noqa: E402
from programs import Failed, expect, outcome, report  # noqa: E402

SERVING = ("faults", "postgres", "recovery", "rpc")  # areas whose tests start the programs
PROGRAMS = ("bin/holdfastd", "bin/holdfast")
# Without what the debugger needs, and optimised a little, because some tests measure.
OPTIONS = ["-O1", "-g0", "-w"]
RACE = "WARNING: ThreadSanitizer: data race"
RACE_STATUS = 66
SHOWN = 6000  # characters of an output, its last ones


def called(command, folder):
    """Runs a command of the build, which must succeed; what it printed."""
    ran = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    words = shlex.join(command)
    expect(ran.returncode == 0, f"`{words}` ended with {ran.returncode}:\n{ran.stdout}")
    return ran.stdout


def library_of(usual):
    """The static library with the object CMakeFiles/NAME.dir/..., if NAME is a library."""
    return f"lib{usual.split('/')[1].removesuffix('.dir')}.a"


class Build:
    """The build directory, and how it makes an object and a program."""

    def __init__(self, folder):
        self.folder = folder
        self.commands = {
            os.path.relpath(source, ROOT): command
            for command in commands_in(os.path.join(folder, "compile_commands.json"))
            for source in command.sources()
        }

    def command_of(self, source):
        """The command that compiles the project's `source`, alone or with its batch."""
        expect(source in self.commands, f"the build does not compile {source}")
        return self.commands[source]

    def compiling(self, command, made, out):
        """The object that `command` makes, as the build names it, and the command that compiles
        `made` into `out` in its place."""
        usual = command.words[command.words.index("-o") + 1]
        # The command of the build has the compiler's cache, too.
        words = shlex.split(called(["ninja", "-t", "commands", "-s", usual], self.folder))
        for option, value in (("-c", made), ("-o", out), ("-MF", f"{out}.d")):
            words[words.index(option) + 1] = value
        # Precompiled headers fit only the options that they were made with.
        precompiled = any("cmake_pch" in word for word in words)
        return usual, words + (["-w"] if precompiled else OPTIONS)

    def linking(self, program):
        """The command that links `program`."""
        said = called(["ninja", "-t", "commands", "-s", program], self.folder)
        for command in said.replace("\n", " && ").split(" && "):
            words = shlex.split(command)
            if "-o" in words and words[words.index("-o") + 1] == program:
                return words
        raise Failed(f"the build has no command that links {program}")


class Mutant:
    """A build directory of what one saboteur changes, and of links to everything else."""

    def __init__(self, saboteur, build):
        self.saboteur = saboteur
        self.build = build
        self.folder = os.path.join(build.folder, "saboteurs", saboteur.name)
        self.source = os.path.join(self.folder, "source")
        self.objects = {}  # those in the place of one of the build, by the path of that one

    def write(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for path, text in self.saboteur.mutated().items():
            target = os.path.join(self.source, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(text)

    def compile(self, whole):
        """The objects of what is changed, of whole batches or of the sources alone; whether that
        makes a difference."""
        edited = [edit.file for edit in self.saboteur.edits if edit.file.endswith(".cc")]
        sources = [*edited, *self.saboteur.recompile]
        by_command = {}
        for source in sources:
            by_command.setdefault(self.build.command_of(source), []).append(source)
        in_part = False
        for command, together in by_command.items():
            path = os.path.relpath(command.compiled, ROOT)
            if path in sources or whole:
                usual, made = self.compile_one(command, path, path in edited)
                self.objects[usual] = [made]
                continue
            in_part = True
            parts = [self.compile_one(command, each, each in edited) for each in together]
            usual = parts[0][0]
            made = [out for _, out in parts]
            self.objects[usual] = made + [self.weakened(usual, made)]
        return in_part

    def compile_one(self, command, path, edited):
        """Compiles the file at `path` as `command` compiles its own: the object of the build, and
        the new one."""
        made = os.path.join(self.source if edited else ROOT, path)
        out = os.path.join(self.folder, path.replace("/", "_") + ".o")
        usual, words = self.build.compiling(command, made, out)
        # Before every other directory, so that a changed header, or source of a batch, is found
        # first.
        first = next(i for i, word in enumerate(words) if word.startswith("-I"))
        words.insert(first, f"-I{self.source}")
        called(words, self.build.folder)
        return usual, out

    def weakened(self, usual, made):
        """A copy of the object of a batch in which every symbol that `made` define is weak."""
        out = os.path.join(self.folder, usual.replace("/", "_"))
        names = f"{out}.names"
        defined = called(["nm", "--defined-only", "--extern-only", "-j", *made], self.build.folder)
        with open(names, "w", encoding="utf-8") as file:
            file.write("\n".join(line for line in defined.split() if not line.endswith(":")))
        called(["objcopy", f"--weaken-symbols={names}", usual, out], self.build.folder)
        return out

    def link(self, program):
        """Links `program` if what is changed is part of it."""
        words = self.build.linking(program)
        own = [usual for usual in self.objects if usual in words]
        members = [usual for usual in self.objects if library_of(usual) in words]
        if not own and not members:
            return
        words[words.index("-o") + 1] = os.path.join(self.folder, program)
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        # A member of a library is taken only for a symbol that no object before it has.
        words[first:first] = [made for usual in own + members for made in self.objects[usual]]
        words = [word for word in words if word not in own]
        called(words + ["-Wl,--strip-debug"], self.build.folder)

    def assemble(self):
        """bin/ and tests/ as in the build directory, with the changed programs in them."""
        for folder in ("bin", "tests"):
            os.makedirs(os.path.join(self.folder, folder))
        areas = sorted({test.area for test in self.saboteur.tests})
        for area in areas:
            self.link(f"tests/{area}_test")
        if any(area in SERVING for area in areas):
            for program in PROGRAMS:
                self.link(program)
        # The tests' PostgreSQL is found from here, and shared with those of the build.
        os.makedirs(os.path.join(self.build.folder, "postgres"), exist_ok=True)
        os.symlink(
            os.path.join(self.build.folder, "postgres"), os.path.join(self.folder, "postgres")
        )
        for folder in ("bin", "tests"):
            for name in os.listdir(os.path.join(self.build.folder, folder)):
                target = os.path.join(self.folder, folder, name)
                if not os.path.exists(target):
                    os.symlink(os.path.join(self.build.folder, folder, name), target)

    def remove(self):
        shutil.rmtree(self.folder)


def run_test(test, folder, **variables):
    """Runs one test with the programs of `folder`: its exit status, negative for a signal, and its
    output."""
    variables["HOLDFAST_BIN_DIR"] = os.path.join(folder, "bin")
    program = os.path.join(folder, "tests", f"{test.area}_test")
    ran = subprocess.run(
        [program, f"--gtest_filter={test.test}"],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return ran.returncode, ran.stdout


def require_seen(saboteur, test, folder):
    """The test must fail, and for the reason that the entry says."""
    for _ in range(test.times):
        status, output = run_test(test, folder, HOLDFAST_SHORT_WAITS="1")
        if status != 0:
            break
    # ThreadSanitizer ends the process with a status of its own, before the test is over.
    race = saboteur.preset == "tsan"
    expected = RACE_STATUS if race else 1
    failed = RACE if race else f"[  FAILED  ] {test.test}"
    where = f"{test.area}: {test.test}"
    shown = f"\n{output[-SHOWN:]}"
    expect(status == expected, f"{where} ended with {status}, not with {expected}{shown}")
    expect(failed in output, f"{where} did not say `{failed}`{shown}")
    matched = re.search(test.says, output, re.DOTALL)
    expect(matched, f"{where} did not say `{test.says}`{shown}")
    print(f"{where} sees it")


def sabotage(saboteur, build_folder):
    if not os.environ.get("HOLDFAST_TESTS_PASSED"):
        for test in saboteur.tests:
            status, output = run_test(test, build_folder)
            where = f"{test.area}: {test.test}"
            expect(status == 0, f"{where} fails without it, with {status}:\n{output[-SHOWN:]}")
    build = Build(build_folder)
    try:
        require_all_seen(saboteur, build, whole=False)
    except OfPartOfBatch as failed:
        print(f"not seen with the sources alone, now with their whole batches: {failed}"[:SHOWN])
        require_all_seen(saboteur, build, whole=True)


class OfPartOfBatch(Failed):
    """What failed may do so because only a part of a batch was mutated."""


def require_all_seen(saboteur, build, whole):
    mutant = Mutant(saboteur, build)
    mutant.write()
    in_part = mutant.compile(whole)
    try:
        mutant.assemble()
        for test in saboteur.tests:
            require_seen(saboteur, test, mutant.folder)
    except Failed as failed:
        raise OfPartOfBatch(str(failed)) if in_part else failed
    mutant.remove()


def check(saboteurs):
    sources = {}
    for saboteur in saboteurs.values():
        for problem in entries.problems(saboteur, sources):
            yield f"{saboteur.table}: {saboteur.name}: {problem}"


def main(arguments):
    sys.stdout.reconfigure(line_buffering=True)
    try:
        saboteurs = entries.load()
    except entries.Wrong as wrong:
        return report([str(wrong)])
    if arguments == ["--check"]:
        return report(check(saboteurs))
    if arguments[:1] == ["--list"] and len(arguments) <= 2:
        preset = arguments[1] if len(arguments) == 2 else None
        print(";".join(s.name for s in saboteurs.values() if s.preset == preset))
        return 0
    if len(arguments) != 2 or arguments[0] not in saboteurs:
        print(__doc__, file=sys.stderr)
        return 2
    saboteur = saboteurs[arguments[0]]
    print(f"{saboteur.name}: {saboteur.breaks}")
    problems = list(check({saboteur.name: saboteur}))
    if problems:
        return report(problems)
    return outcome(saboteur.name, lambda: sabotage(saboteur, os.path.abspath(arguments[1])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
