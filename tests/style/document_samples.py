"""Good and bad samples for the rules on documents, in the form that samples.py explains."""

DOCUMENT_SAMPLES = {
    "links": [
        ({"a.md": "see [b](docs/b.md)\n"}, "a.md:1: there is no docs/b.md"),
        ({"docs/a.md": "see\n[b](b.md)\n", "b.md": ""}, "docs/a.md:2: there is no b.md"),
        ({"a.md": "[b](../outside.md)\n"}, "there is no ../outside.md"),
        ({"a.md": "[b](b.md#two)\n", "b.md": "# One\n"}, "b.md has no heading #two"),
        ({"a.md": "[b]: gone.md\n"}, "there is no gone.md"),
        (
            {
                "a.md": "[b](docs/b.md#a-b) [c](#c) [w](https://x.example/y.md)\n\n# C\n"
                "`[d](gone.md)`\n\n```sh\n[e](gone.md)\n```\n",
                "docs/b.md": "## A `b`!\n[a](../a.md) [here](.)\n",
            },
            None,
        ),
    ],
    "named_files": [
        ({"a.md": "it is in `session/gone.cc`\n"}, "a.md:1: there is no session/gone.cc"),
        ({"docs/a.md": "run `scripts/gone`\n"}, "there is no scripts/gone"),
        (
            {
                "a.md": "`session/a.cc`, `session/`, `session/a.cc:7`, `tests/<area>/x.cc`, "
                "`scripts/run --once`\n```sh\nscripts/gone\n```\n",
                "session/a.cc": "",
            },
            None,
        ),
    ],
}
