"""The rule that the diagram of the arrows shows the includes that there are."""
import re

from documents import section
from rules import PRODUCT

PAGE = "docs/ARCHITECTURE.md"
HEADING = "Arrows"
ARROW = re.compile(r"^\s*([\w-]+) -->(?:\|[^|]*\|)? ([\w-]+)$")
INCLUDE = re.compile(r'^#include "([\w-]+)/([\w/.-]*)"', re.MULTILINE)
# What protoc makes of protos/ is included by the path of its package.
GENERATED = ("holdfast", "google", "opentelemetry")


def drawn(tree):
    """(from, to) -> line, of the diagram."""
    found = {}
    for number, line in section(tree.texts.get(PAGE, ""), HEADING):
        arrow = ARROW.match(line)
        if arrow:
            found[arrow[1], arrow[2]] = number
    return found


def included(tree):
    """(from, to) -> file, between folders of the project."""
    folders = {path.split("/")[0] for path in tree.paths if "/" in path}
    found = {}
    for path, text in tree.select(PRODUCT):
        folder = path.split("/")[0]
        for include in INCLUDE.finditer(text):
            if include[2].endswith(".pb.h") and include[1] in GENERATED:
                target = "protos"
            else:
                target = include[1]
            if target != folder and target in folders | {"protos"}:
                found.setdefault((folder, target), path)
    return found


def drawn_arrows(tree):
    """The diagram under `Arrows` has an arrow for each include between folders, and no other."""
    shown, found = drawn(tree), included(tree)
    for folder, target in sorted(set(found) - set(shown)):
        yield f"{PAGE}:1: no arrow for {found[folder, target]}, which includes {target}/"
    for arrow in sorted(set(shown) - set(found)):
        yield f"{PAGE}:{shown[arrow]}: no file of {arrow[0]}/ includes {arrow[1]}/"


RULES = {drawn_arrows.__name__: drawn_arrows}
