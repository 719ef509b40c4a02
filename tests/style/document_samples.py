"""Good and bad samples for the rules on documents, in the form that samples.py explains."""

REASONS = """
    {Reason::kDamaged, "DAMAGED", StatusCode::kDataLoss, "Session/Damaged", Retry::kNever, false},
    {Reason::kQuota, "QUOTA", StatusCode::kResourceExhausted, "",
     Retry::kAfterRetryInfo, true},
    case Retry::kNever:
      return "never";
    case Retry::kAfterRetryInfo:
      return "after RetryInfo";
"""
DAMAGED = "| `DAMAGED` | DATA_LOSS | Session/Damaged | never | | |\n"
QUOTA = "| `QUOTA` | RESOURCE_EXHAUSTED | – | after RetryInfo | reserved | |\n"
TABLE = "## Reasons\n\n" + DAMAGED + QUOTA
PROTO = "service A {\n  rpc GetIt(GetItRequest) returns (GetItResponse);\n}\n"
TO_DO = "## What to do, by method\n\n| `any call` | – | – | – | – |\n"
COMMON = "## Methods\n\n| `any call` | nothing |\n"
ROW = "## Methods\n\n| `GetIt` | `DAMAGED` |\n"


def reasons(table):
    return {"session/reasons.cc": REASONS, "docs/api.md": table}


def methods(rows):
    return {"session/reasons.cc": REASONS, "protos/holdfast/v1/a.proto": PROTO, "docs/api.md": rows}


DOCUMENT_SAMPLES = {
    "documented_reasons": [
        (reasons("## Reasons\n\n" + DAMAGED), "the reason QUOTA is missing"),
        (reasons(TABLE.replace("| never", "| later")), "DAMAGED must read"),
        (reasons(TABLE.replace("DATA_LOSS", "INTERNAL")), "DAMAGED must read"),
        (reasons(TABLE.replace("reserved", "")), "QUOTA must read"),
        (reasons(TABLE + DAMAGED.replace("DAMAGED", "BROKEN")), "BROKEN is no reason"),
        (reasons("## Reasons\n\n" + QUOTA + DAMAGED), "another order"),
        (reasons("## Others\n\n" + DAMAGED + QUOTA), "the reason DAMAGED is missing"),
        ({"docs/api.md": TABLE}, "no row of the table is understood"),
        (reasons(TABLE), None),
    ],
    "documented_methods": [
        (methods("## Methods\n"), "a.proto:2: GetIt has no row"),
        (methods(ROW + "| `SetIt` | |\n"), "SetIt is no method"),
        (methods(ROW.replace("DAMAGED", "BROKEN")), "BROKEN is no reason"),
        (methods(ROW.replace("`DAMAGED`", "`DAMAGED`, `QUOTA`")), "QUOTA is reserved"),
        (methods(ROW.replace("`DAMAGED`", "")), "no method is said to cause DAMAGED"),
        (methods(ROW), None),
    ],
    "documented_retries": [
        (methods(TABLE + COMMON), "must read: | `any call` | – | – | – | – |"),
        (methods(TABLE + COMMON + "| `GetIt` | any call; `DAMAGED` |\n" + TO_DO), "| `DAMAGED` |"),
        (
            methods(
                TABLE
                + COMMON
                + "| `GetIt` | any call; `DAMAGED` |\n"
                + TO_DO
                + "| `GetIt` | `DAMAGED` | – | – | – |\n"
            ),
            "| `GetIt` | – | – | – | `DAMAGED` |",
        ),
        (methods(TABLE + COMMON + TO_DO + "| `SetIt` | – | – | – | – |\n"), "SetIt is no row"),
        (
            methods(
                TABLE
                + COMMON
                + "| `session` | `DAMAGED` |\n"
                + "| `GetIt` | any call, session (but not `DAMAGED`) |\n"
                + "| `SetIt` | what GetIt causes; `QUOTA` |\n"
                + TO_DO
                + "| `GetIt` | – | – | – | – |\n| `SetIt` | `QUOTA` | – | – | – |\n"
            ),
            None,
        ),
    ],
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
