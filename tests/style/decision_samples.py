"""Good and bad samples for the rules on decision records, in the form that samples.py explains."""

RECORD = """# 7. Ids are bytes

**Status.** Accepted, 2026-01-02.

**Context.** c

**Options.**

| option | result |
|---|---|
| text | taken |

**Decision.** d

**Consequences.** e
"""
ROW = "| 7 | [Ids are bytes](0007-ids-are-bytes.md) | accepted, 2026-01-02 |\n"


def record(text, row=ROW, name="0007-ids-are-bytes.md"):
    return {f"docs/adr/{name}": text, "docs/adr/README.md": row}


DECISION_SAMPLES = {
    "decisions": [
        (record(RECORD + "\n" * 50), "at most 60"),
        (record(RECORD + "word " * 600), "words, at most 600"),
        (record(RECORD.replace("**Context.** c\n", "")), "its parts are Status, Options"),
        (record(RECORD.replace(", 2026-01-02", "")), "the status must read"),
        (record(RECORD.replace("|---|---|\n", "")), "its options are no table"),
        (record(RECORD.replace("# 7. ", "# ")), "the title must read"),
        (record(RECORD, name="0007-ids.md"), "its name must be 0007-ids-are-bytes.md"),
        (record(RECORD, row=""), "0007-ids-are-bytes.md has no row"),
        (record(RECORD, row=ROW.replace("Ids are", "Names are")), "must have the title"),
        (record(RECORD, row=ROW + ROW.replace("0007", "0008")), "there is no 0008-ids"),
        (record(RECORD, row=ROW.replace("accepted", "superseded")), "has another status"),
        (record(RECORD), None),
    ],
    "named_decisions": [
        (record(RECORD) | {"a.cc": "// see\n// ADR 8\n"}, "a.cc:2: there is no decision 8"),
        (record(RECORD) | {"a.cc": "// docs/adr/0009-x.md\n"}, "there is no decision 9"),
        (record(RECORD) | {"a.cc": "// ADR 7, docs/adr/0007-ids-are-bytes.md\n"}, None),
    ],
}
