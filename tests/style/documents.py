"""Rules that keep the documents true: they list what the code has, and what they name exists."""
import os
import re

from rules import line_of

def section(text, heading):
    """(line number, line) of everything under `## heading`."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            inside = line[3:].strip() == heading
        elif inside:
            yield number, line


FENCED = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|^\[[^\]\n]+\]:\s*(\S+)", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:")


def blank(pattern, text):
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def anchors(text):
    """What a link may name behind `#`: the headings as a web page of the text would."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", blank(FENCED, text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(tree):
    """A link to a file of the project leads to a file that is there, and to a heading of it."""
    for path, text in tree.select(["*.md"]):
        seen = blank(INLINE, blank(FENCED, text))
        for found in LINK.finditer(seen):
            target = found[1] or found[2]
            if ELSEWHERE.match(target):
                continue
            file, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            where = f"{path}:{line_of(seen, found.start())}"
            if to.startswith("..") or not os.path.exists(os.path.join(tree.root, to)):
                yield f"{where}: there is no {target}"
            elif anchor and anchor not in anchors(tree.texts.get(to, "")):
                yield f"{where}: {to} has no heading #{anchor}"


FOLDERS = (
    "platform|session|store-fs|store-postgres|server|cli|protos|scripts|cmake|docs|tests|helm"
)
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./-]*\w)(?::\d+)?`")


def named_files(tree):
    """A file or folder of the project that a document names between backticks is there."""
    for path, text in tree.select(["*.md"]):
        seen = blank(FENCED, text)
        for found in NAMED.finditer(seen):
            if not os.path.exists(os.path.join(tree.root, found[1])):
                yield f"{path}:{line_of(seen, found.start())}: there is no {found[1]}"


CHECKS = (links, named_files)
RULES = {rule.__name__: rule for rule in CHECKS}
