"""Spans as the collector's debug exporter prints them."""
import re

FIELD = re.compile(r"^    (\w[\w ]*?) *: (.*)$")
ATTRIBUTE = re.compile(r"^     -> ([\w.]+): (\w+)\((.*)\)$")
TITLE = re.compile(r"^(\w[\w ]*):$")


def spans(text):
    """Each span of the output: its fields by the collector's names, its attributes with their
    types, the attributes of its resource, and the scope that it is of."""
    found, resource, scope = [], {}, ""
    attributes = None  # those that the next lines add to
    for line in text.splitlines():
        title, field, attribute = (rule.match(line) for rule in (TITLE, FIELD, ATTRIBUTE))
        if line.startswith("Resource attributes:"):
            attributes = resource = {}
        elif line.startswith("InstrumentationScope "):
            scope = line.removeprefix("InstrumentationScope ").split(" ")[0]
        elif re.match(r"^Span #\d+$", line):
            found.append({"attributes": {}, "resource": resource, "scope": scope})
            attributes = None
        elif title:  # events and links have attributes of their own
            attributes = found[-1]["attributes"] if title[1] == "Attributes" else None
        elif field and found:
            found[-1][field[1]] = field[2]
        elif attribute and attributes is not None:
            attributes[attribute[1]] = (attribute[2], attribute[3])
    return found
