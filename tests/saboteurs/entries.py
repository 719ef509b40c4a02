"""The saboteurs: mutations of the source, each with the tests that must see it.

An entry `[[saboteur]]` of a *.toml beside this file has

    name       of it, in [a-z0-9_]
    breaks     what it breaks: one sentence
    file       the file of the project that it changes
    line       a text of one or more lines, which occurs exactly once in that file
    becomes    the text in its place
    preset     the build preset that it belongs to; every preset but tsan if not given
    recompile  for a change of a header: the sources in which it must take effect

Changes at further places are `[[saboteur.also]]` with `file`, `line` and `becomes`. A test that
must see it is `[[saboteur.tests]]` with

    area   the test binary
    test   its name in GoogleTest
    says   a regular expression that its output must match
    times  how often at most it is run until it fails, where chance decides what goes wrong
"""
import dataclasses
import glob
import os
import re
import tomllib

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
CHANGE = {"file": str, "line": str, "becomes": str}
TEST = {"area": str, "test": str, "says": str}
PRESETS = (None, "tsan")


class Wrong(Exception):
    """What is wrong with an entry."""


@dataclasses.dataclass(frozen=True)
class Edit:
    file: str
    line: str
    becomes: str


@dataclasses.dataclass(frozen=True)
class Sighting:
    area: str
    test: str
    says: str
    times: int = 1


@dataclasses.dataclass(frozen=True)
class Saboteur:
    table: str  # the file that has the entry
    name: str
    breaks: str
    edits: tuple
    tests: tuple
    recompile: tuple = ()
    preset: str | None = None

    def mutated(self):
        """The text of each file that it changes, by the file's path; Wrong if a line is not found
        exactly once."""
        texts = {}
        for edit in self.edits:
            if edit.file not in texts:
                texts[edit.file] = read(edit.file)
            count = texts[edit.file].count(edit.line)
            if count != 1:
                first = edit.line.strip().splitlines()[0]
                raise Wrong(f"{edit.file} has the line `{first}` {count} times, not once")
            texts[edit.file] = texts[edit.file].replace(edit.line, edit.becomes)
        return texts


def read(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        raise Wrong(f"there is no file {path}") from None


def require(keys, values, optional):
    """Wrong unless `values` has each of `keys`, with its type, and else only `optional` ones."""
    for key, kind in keys.items():
        if not isinstance(values.get(key), kind):
            raise Wrong(f"`{key}` must be given as {kind.__name__}")
    for key, value in values.items():
        if key not in keys and not isinstance(value, optional.get(key, ())):
            raise Wrong(f"`{key}` is no key of an entry, or not of its type")


def entry(table, values):
    """The saboteur of one entry; Wrong says what is not in order."""
    optional = {"also": list, "tests": list, "recompile": list, "preset": str}
    require({"name": str, "breaks": str} | CHANGE, values, optional)
    changes = [{key: values[key] for key in CHANGE}] + values.get("also", [])
    for change in changes:
        require(CHANGE, change, {})
        if not change["line"].strip() or change["line"] == change["becomes"]:
            raise Wrong("`line` must have a text, which `becomes` another one")
    for test in values.get("tests", []):
        require(TEST, test, {"times": int})
    return Saboteur(
        table=table,
        name=values["name"],
        breaks=values["breaks"],
        edits=tuple(Edit(**change) for change in changes),
        tests=tuple(Sighting(**test) for test in values.get("tests", [])),
        recompile=tuple(values.get("recompile", [])),
        preset=values.get("preset"),
    )


def load():
    """Every saboteur by its name; Wrong names the file and the entry."""
    saboteurs = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.toml"))):
        table = os.path.relpath(path, ROOT)
        try:
            with open(path, "rb") as file:
                tables = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise Wrong(f"{table}: {error}") from None
        for values in tables.get("saboteur", []):
            name = values.get("name")
            try:
                saboteur = entry(table, values)
            except Wrong as wrong:
                raise Wrong(f"{table}: {name}: {wrong}") from None
            if name in saboteurs:
                raise Wrong(f"{table}: {name}: {saboteurs[name].table} has this name already")
            saboteurs[name] = saboteur
    return saboteurs


def tests_of(area, sources):
    """The tests of an area as (suite, case), read from its sources once."""
    if area not in sources:
        found = set()
        for path in glob.glob(os.path.join(ROOT, "tests", area, "*.cc")):
            text = read(os.path.relpath(path, ROOT))
            found |= set(re.findall(r"\b(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", text))
        sources[area] = found
    return sources[area]


def problems(saboteur, sources):
    """What the project's files say against one saboteur; `sources` keeps what was read."""
    if not re.fullmatch(r"[a-z0-9_]+", saboteur.name):
        yield "`name` must be of the characters a-z, 0-9 and _"
    if saboteur.preset not in PRESETS:
        yield f"`preset` must not be {saboteur.preset}"
    try:
        changed = saboteur.mutated()
        for path in saboteur.recompile:
            read(path)
    except Wrong as wrong:
        yield str(wrong)
        return
    if not saboteur.recompile and any(path.endswith(".h") for path in changed):
        yield "`recompile` must name sources: it changes a header"
    if not saboteur.tests:
        yield "it has no test"
    for test in saboteur.tests:
        suite, _, case = test.test.partition(".")
        if (suite.split("/")[-1], case.split("/")[0]) not in tests_of(test.area, sources):
            yield f"{test.area} has no test {test.test}"
        try:
            re.compile(test.says)
        except re.error as error:
            yield f"`says` of {test.test} is no regular expression: {error}"
