"""Commands of the project's documents, as their fenced blocks have them, which tests execute."""
import os
import re

from programs import ROOT, Failed

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


def read_document(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def section(text, title):
    """Returns the text below the heading `title`, up to the next heading."""
    found = list(HEADING.finditer(FENCE.sub(lambda block: " " * len(block[0]), text)))
    for heading, after in zip(found, [*found[1:], None]):
        if heading[2] == title:
            return text[heading.end() : after.start() if after else len(text)]
    raise Failed(f"no document has a section `{title}` here")


def blocks(text, language=None):
    """The fenced blocks of the text, or those in one language."""
    return [body for name, body in FENCE.findall(text) if language in (None, name)]
