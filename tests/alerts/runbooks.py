"""Every alert says what an operator needs, and has a section in docs/runbooks.md."""
import os
import re

import promtool
from programs import ROOT

PAGE = "docs/runbooks.md"
SEVERITIES = ("page", "ticket", "info")
SECTION = "\n## Alerts\n"
# What a section has, each at the beginning of a paragraph.
PARTS = ("**Means.**", "**Affects.**", "**Confirm.**", "**Do.**", "**Over when**")


def sections():
    """Heading -> text, of the alerts' part of the page."""
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        parts = re.split(r"^### (.*)$", file.read().split(SECTION)[1], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def every_alert_has_a_section():
    """Alerts without a label, an annotation or a section, and sections without an alert."""
    alerts, found = promtool.alerts(), sections()
    for name, rule in alerts.items():
        severity, notes = rule["labels"].get("severity"), rule["annotations"]
        if severity not in SEVERITIES:
            yield f"{name}: severity is {severity}"
        for key in ("summary", "description"):
            if "{{ $labels.job }}" not in notes.get(key, ""):
                yield f"{name}: {key} does not name the job"
        if notes.get("runbook_url") != f"{PAGE}#{name.lower()}":
            yield f"{name}: runbook_url is {notes.get('runbook_url')}"
        if name not in found:
            yield f"{name}: {PAGE} has no section"
            continue
        places = [found[name].find(f"\n{part}") for part in PARTS]
        if -1 in places or places != sorted(places):
            yield f"{name}: its section must have {', '.join(PARTS)}, in this order"
        if f"`{severity}`" not in found[name].split("\n\n")[1]:
            yield f"{name}: its section does not begin with `{severity}`"
    for name in found.keys() - alerts.keys():
        yield f"{PAGE}: {name} is no alert"
