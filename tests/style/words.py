"""The rule that documents use the terms of the field."""
import re

from documents import FENCED, INLINE, blank
from rules import line_of

# word -> what to write instead.
WORDS = {
    r"whoever": "name the caller, the client or the process",
    r"nobody|somebody|everybody|anybody": "name the caller, the client or the process",
    r"stands|stood": "is, or the place where it is",
    r"tells?|told": "notifies, reports, returns",
    r"let in|lets in": "admitted, admits",
    r"goes the way of": "is processed like",
    r"judges?|judged|judging": "validates, verifies, classifies",
    r"spoils?|spoiled|spoiler": "fails, corrupts",
    r"graves?|bury|buries|buried": "delete, tombstone",
    r"farewell": "the last message",
    r"meets": "finds, fails with",
    r"knows": "has, tracks, supports",
    r"has seen": "has read, has received",
    r"cancel marks?": "cancel request",
    r"foresees?|foreseen": "precheck",
    r"unstages?|unstaged": "resolve the upload",
    r"the house": "the project",
}
WORD = re.compile(
    "|".join(rf"\b(?P<w{at}>{word})\b" for at, word in enumerate(WORDS)), re.IGNORECASE
)
# Records of what was, and pages that are made from texts of the code.
OTHERS = ["CHANGELOG.md", "docs/api.md", "docs/limits.md", "docs/metrics.md", "docs/reports/*"]
# Texts of the program that a document quotes.
QUOTED = ["its step N is not the one that this program knows by that number"]


def dropped_words(tree):
    """No document has a word of the project's former dialect, outside of code that it shows."""
    for path, text in tree.select(["*.md"], but=OTHERS):
        seen = blank(INLINE, blank(FENCED, text))
        for quoted in QUOTED:
            seen = seen.replace(quoted, " " * len(quoted))
        for found in WORD.finditer(seen):
            instead = WORDS[list(WORDS)[int(found.lastgroup[1:])]]
            yield f"{path}:{line_of(seen, found.start())}: not `{found[0]}`: {instead}"


RULES = {dropped_words.__name__: dropped_words}
