"""Good and bad samples for the rule on words, in the form that samples.py explains."""

TERM_SAMPLES = {
    "terms": [
        ({"session/a.h": "// Whoever calls this holds the lock.\n"}, "a.h:1: `whoever`"),
        ({"session/a.cc": 'return InvalidField("id", "nobody has it");\n'}, "a.cc:1: `nobody`"),
        ({"tests/unit/a.cc": "TEST(Store, TellsItsPeers) {}\n"}, "a.cc:1: `tells`: notify"),
        ({"docs/a.md": "# A\n\nThe revision stands in the head.\n"}, "docs/a.md:3: `stands`"),
        ({"session/a.h": "bool judge_it();\n"}, "`judge`: classify"),
        ({"session/a.h": "class EventBell;\n"}, "`event bell`: ChangeNotifier"),
        ({"protos/a.proto": "// Is let in.\n"}, "`let in`: admit"),
        ({"session/a.h": "// See DESIGN section 4.\n"}, "a document of this repository"),
        ({"scripts/a": "# folds the entries\n"}, "`folds`: apply"),
        (
            {
                "session/a.h": "// A hot standby of holdfast, and a threefold understanding.\n",
                "tests/data/a.jsonl": '{"text": "Nobody told me."}\n',
            },
            None,
        ),
    ]
}
