"""The rule that keeps the index of documents useful: questions, each near the README."""
import os
import re

from documents import ELSEWHERE, FENCED, INLINE, LINK, blank

PAGE = "docs/README.md"
ENTRY = "README.md"
QUESTIONS = 25
ROW = re.compile(r"^\| ([^|]*\?) \| (.*) \|$", re.MULTILINE)


def linked(tree, path):
    """The files that a page leads to."""
    text = blank(INLINE, blank(FENCED, tree.texts.get(path, "")))
    for found in LINK.finditer(text):
        target = (found[1] or found[2]).partition("#")[0]
        if target and not ELSEWHERE.match(target):
            yield os.path.normpath(os.path.join(os.path.dirname(path), target))


def questions(tree):
    """docs/README.md has enough questions, each with a link, at most two links from README.md.

    That a link has a file and a heading at its end is the rule `links`.
    """
    near = set(linked(tree, ENTRY))
    near |= {target for page in sorted(near) for target in linked(tree, page)}
    rows = list(ROW.finditer(tree.texts.get(PAGE, "")))
    if len(rows) < QUESTIONS:
        yield f"{PAGE}:1: {len(rows)} questions, at least {QUESTIONS}"
    seen = set()
    for row in rows:
        where = f"{PAGE}:{tree.texts[PAGE].count(chr(10), 0, row.start()) + 1}"
        answers = [found[1] for found in LINK.finditer(row[2])]
        if not answers:
            yield f"{where}: `{row[1]}` has no answer"
        if row[1] in seen:
            yield f"{where}: `{row[1]}` is asked twice"
        seen.add(row[1])
        for answer in answers:
            file = os.path.normpath(os.path.join(os.path.dirname(PAGE), answer.partition("#")[0]))
            if file != ENTRY and file not in near:
                yield f"{where}: {file} is more than two links from {ENTRY}"


RULES = {questions.__name__: questions}
