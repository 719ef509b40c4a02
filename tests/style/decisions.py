"""Rules that keep the decision records short, of one form, and listed in their index."""
import os
import re

FOLDER = "docs/adr"
INDEX = f"{FOLDER}/README.md"
LINES = 60
WORDS = 600
PARTS = ("Status", "Context", "Options", "Decision", "Consequences")
STATUS = re.compile(r"^\*\*Status\.\*\* (?:Proposed|Accepted), \d{4}-\d\d-\d\d\.", re.MULTILINE)
SUPERSEDED = re.compile(r"^\*\*Status\.\*\*.*\bSuperseded by\b", re.MULTILINE)
TITLE = re.compile(r"# (\d+)\. (.+)")
ROW = re.compile(r"\| (\d+) \| \[(.+?)\]\(([^)]+)\) \| (.+) \|")
MENTION = re.compile(r"\bADR (\d+)\b|\bdocs/adr/0*(\d+)")


def records(tree):
    for path, text in tree.select([f"{FOLDER}/*.md"]):
        if path != INDEX:
            yield path, text


def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def form(path, text):
    """What is wrong with one record by itself."""
    lines, words = len(text.splitlines()), len(text.split())
    if lines > LINES:
        yield f"{path}:{LINES + 1}: {lines} lines, at most {LINES}"
    if words > WORDS:
        yield f"{path}:1: {words} words, at most {WORDS}"
    parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE)
    if parts != list(PARTS):
        yield f"{path}:1: its parts are {', '.join(parts)}, not {', '.join(PARTS)}"
    if not STATUS.search(text):
        yield f"{path}:3: the status must read `Accepted, YYYY-MM-DD.` or `Proposed, YYYY-MM-DD.`"
    options = text.partition("**Options.**")[2].partition("**Decision.**")[0]
    if not re.search(r"^\|[-|]+\|$", options, re.MULTILINE):
        yield f"{path}:1: its options are no table"
    title = TITLE.match(text)
    if not title:
        yield f"{path}:1: the title must read `# NUMBER. TITLE`"
    elif os.path.basename(path) != f"{int(title[1]):04d}-{slug(title[2])}.md":
        yield f"{path}:1: its name must be {int(title[1]):04d}-{slug(title[2])}.md"


def decisions(tree):
    """A decision record is short, has every part, and has a row in the index with its title."""
    rows = {found[3]: found for found in ROW.finditer(tree.texts.get(INDEX, ""))}
    for path, text in records(tree):
        yield from form(path, text)
        title = TITLE.match(text)
        row = rows.pop(os.path.basename(path), None)
        if row is None:
            yield f"{INDEX}:1: {os.path.basename(path)} has no row"
        elif title and (row[1], row[2]) != title.groups():
            yield f"{INDEX}:1: the row of {title[1]} must have the title `{title[2]}`"
        elif ("superseded" in row[4]) != bool(SUPERSEDED.search(text)):
            yield f"{INDEX}:1: the row of {row[1]} has another status than its record"
    for name in rows:
        yield f"{INDEX}:1: there is no {name}"


def named_decisions(tree):
    """A decision that a file names by its number exists."""
    known = {int(os.path.basename(path)[:4]) for path, _ in records(tree)}
    for path, text in tree.select(["*"], but=["tests/style/*"]):
        for number, line in enumerate(text.splitlines(), 1):
            for found in MENTION.finditer(line):
                if int(found[1] or found[2]) not in known:
                    yield f"{path}:{number}: there is no decision {found[1] or found[2]}"


RULES = {rule.__name__: rule for rule in (decisions, named_decisions)}
