"""Good and bad samples for the rule on questions, in the form that samples.py explains."""

ENTRY = "[documents](docs/README.md)\n"


def rows(count, answer="[a](a.md#one)"):
    return "".join(f"| Question {number}? | {answer} |\n" for number in range(count))


def pages(index, entry=ENTRY):
    return {"README.md": entry, "docs/README.md": index, "docs/a.md": "# One\n"}


QUESTION_SAMPLES = {
    "questions": [
        (pages(rows(24)), "24 questions, at least 25"),
        (pages(rows(25) + rows(1, answer="soon").replace("0", "30")), "has no answer"),
        (pages(rows(25) + rows(1)), "is asked twice"),
        (pages(rows(25), entry="no link\n"), "docs/a.md is more than two links from README.md"),
        (pages(rows(25)), None),
    ],
}
