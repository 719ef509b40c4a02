"""Good and bad samples for the rule on words, in the form that samples.py explains."""

WORD_SAMPLES = {
    "dropped_words": [
        ({"docs/a.md": "# A\n\nWhoever waits is late.\n"}, "docs/a.md:3: not `Whoever`: name"),
        ({"a.md": "The row stands in a table.\n"}, "a.md:1: not `stands`: is, or the place"),
        ({"a.md": "Calls are let in by admission.\n"}, "not `let in`: admitted, admits"),
        (
            {
                "a.md": "It `tells` it:\n\n```\nnobody is told\n```\n\nHouseholds understand.\n",
                "CHANGELOG.md": "- nobody is told\n",
                "a.cc": "// nobody is told\n",
            },
            None,
        ),
    ],
}
