"""Good and bad samples for the rule on diagrams, in the form that samples.py explains."""

SOURCES = {
    "server/a.cc": '#include "holdfast/v1/a.pb.h"\n#include "session/b.h"\n#include "server/a.h"\n',
    "server/a.h": "",
    "session/b.h": '#include "absl/status/status.h"\n',
    "cli/c.cc": "",
}
PROTOS = '  server -->|"by pages"| protos\n'


def page(arrows):
    return SOURCES | {"docs/ARCHITECTURE.md": f"## Arrows\n\nflowchart LR\n{arrows}\n## Other\n"}


DIAGRAM_SAMPLES = {
    "drawn_arrows": [
        (page(PROTOS), "no arrow for server/a.cc, which includes session/"),
        (page("  server --> session\n"), "no arrow for server/a.cc, which includes protos/"),
        (
            page(PROTOS + "  server --> session\n  cli --> session\n"),
            "docs/ARCHITECTURE.md:6: no file of cli/ includes session/",
        ),
        (page(PROTOS + "  server --> session\n"), None),
    ],
}
