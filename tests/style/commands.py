"""The rule that a test runs every block of commands that a document prints."""
import ast
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from inventory import RUN_LANGUAGES, SHOWN_LANGUAGES, Block, blocks_of  # noqa: E402

INVENTORY = "tests/support/inventory.py"
DOCUMENTS = ["*.md"]
COMMENTED = ["deploy/*"]  # files whose comments have commands
# A command in a block that nothing runs.
TYPED = re.compile(
    r"^(\$|sudo|docker|kubectl|systemctl|scripts/\S+|deploy/\S+|build/bin/\S+) .*", re.MULTILINE
)
OTHER_FORMS = re.compile(r"^ *<pre\b", re.MULTILINE)


def table(tree, name):
    """The literal that the inventory assigns to a name."""
    for path, text in tree.select([INVENTORY]):
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign) and node.targets[0].id == name:
                return ast.literal_eval(node.value)
    return {}


PYTHON_TEST = re.compile(r"add_test\(NAME (\S+)\s+COMMAND \S+ \$\{scripts\}/(\S+?\.py)\b")
LOOP = re.compile(r"foreach\((\w+) ([\w ]+)\)\n\s*add_test\(NAME (\S+\$\{\1\}\S*)")
CHECKS = re.compile(r"holdfast_checks\((\S+) (\S+)\)")
LONG_CHECK = re.compile(r"holdfast_long_check\((\S+) (\S+\.py)")
CHECK_NAME = re.compile(r'"([A-Z]\w*(?:\.\w+)?)"')
GTEST = re.compile(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", re.MULTILINE)


def ctests(tree):
    """Name of a ctest -> the file of its program, or of its case."""
    found = {}
    for path, text in tree.select(["CMakeLists.txt", "*.cmake"]):
        loops = {name: (variable, values.split()) for variable, values, name in LOOP.findall(text)}
        for name, program in PYTHON_TEST.findall(text):
            variable, values = loops.get(name, ("", [""]))
            for value in values:
                full = name.replace(f"${{{variable}}}", value)
                found[full] = f"tests/docs/{program}"
        for folder, prefix in CHECKS.findall(text):
            program = f"{folder}/run.py"
            for name in CHECK_NAME.findall(tree.texts.get(program, "")):
                found[f"{prefix}.{name}"] = program
        found |= dict(LONG_CHECK.findall(text))
    for path, text in tree.select(["tests/*/*.cc"]):
        for suite, case in GTEST.findall(text):
            found[f"{path.split('/')[1]}.{suite}.{case}"] = path
    return found


IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)


def sources(tree, program):
    """The text of a program, and of the modules of its folder and of tests/support it imports."""
    seen, wanted = {}, [program]
    while wanted:
        path = wanted.pop()
        if path in seen or path == INVENTORY:
            continue
        seen[path] = tree.texts.get(path, "")
        for name in IMPORT.findall(seen[path]):
            near = (os.path.dirname(path), "tests/support")
            wanted += [f for folder in near if (f := f"{folder}/{name}.py") in tree.texts]
    return "\n".join(seen.values())


def printed_blocks(tree):
    """The blocks that need a test, and violations in others."""
    for path, text in tree.select(DOCUMENTS + COMMENTED):
        for found in OTHER_FORMS.finditer(text) if path.endswith(".md") else []:
            yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: a block is fenced"
        for block in blocks_of(path, text):
            where = f"{path}:{block.line}"
            if block.language in RUN_LANGUAGES:
                yield block
            elif block.language not in SHOWN_LANGUAGES:
                known = ", ".join(RUN_LANGUAGES + SHOWN_LANGUAGES)
                yield f"{where}: a block has a language, one of {known}"
            elif block.language == "text" and (typed := TYPED.search(block.body)):
                yield f"{where}: `{typed[0]}` is a command in a block of text"


def commands(tree):
    """A test runs each block of commands, queries or settings of the documents, or the inventory
    says why none does."""
    run, exceptions = table(tree, "RUN"), table(tree, "EXCEPTIONS")
    rows = [(row, test) for test, of_test in run.items() for row in of_test]
    found = list(printed_blocks(tree))
    blocks = [block for block in found if isinstance(block, Block)]
    yield from (problem for problem in found if isinstance(problem, str))
    for block in blocks:
        tested = any(block.covered_by(row) for row, _ in rows)
        excepted = any(block.covered_by(row) for row in exceptions)
        if not tested and not excepted:
            yield f"{block.document}:{block.line}: no test runs this block ({INVENTORY})"
        if tested and excepted:
            yield f"{block.document}:{block.line}: a test runs this block, and it is an exception"
    for row in [row for row, _ in rows] + list(exceptions):
        if not any(block.covered_by(row) for block in blocks):
            yield f"{INVENTORY}: {row} is no block"
    for row, reason in exceptions.items():
        if len(reason.split()) < 3:
            yield f"{INVENTORY}: the exception {row} has no reason"
    yield from untested(tree, run)


def untested(tree, run):
    """Tests of the inventory that do not exist, or do not read their documents."""
    known = ctests(tree)
    for test, rows in run.items():
        if test not in known:
            yield f"{INVENTORY}: there is no test {test}"
            continue
        text = sources(tree, known[test])
        for document in sorted({row[0] for row in rows}):
            if f'"{document}"' not in text:
                yield f"{INVENTORY}: {test} ({known[test]}) does not read {document}"
        if known[test].endswith(".py") and "Printed(" not in text:
            yield f"{INVENTORY}: {test} ({known[test]}) does not take its blocks from here"


RULES = {commands.__name__: commands}
