"""Which test runs which block of the documents.

A block is a fenced block of a Markdown file, a group of comment lines of deploy/ that are indented
by three spaces or more, or the examples in a help text (`Examples:` in a fenced block). A test
takes its blocks from here (Printed), so it runs what the documents print. The style rule `commands`
refuses a block that no row covers, a row that covers no block, and a row whose test does not exist.
"""
import dataclasses
import os
import re

from programs import ROOT, Failed

# Languages whose blocks a test runs, and those of blocks that nothing can run.
RUN_LANGUAGES = ("sh", "sql", "promql", "python", "typescript", "yaml")
SHOWN_LANGUAGES = ("text", "mermaid")

# Test -> rows (document, heading, language, text). A row covers the blocks below the heading, of
# whatever level, in the language, that contain the text. Comments of deploy/ have the heading "".
RUN = {
    "docs.Readme.BlocksRun": [
        ("README.md", "Quick start", "sh", "scripts/run"),
        ("README.md", "Quick start", "sh", "build-release/quick-start"),
    ],
    "walks.LongLaptop.ServesByTheImage": [
        ("README.md", "Quick start", "sh", "docker run"),
        ("docs/operations.md", "In a container", "sh", "docker run"),
        ("docs/operations.md", "In a container", "sh", "docker rm"),
    ],
    "walks.LongWalks.TakeMinutes": [("docs/operations.md", "With Compose", "sh", "")],
    "docs.Operations.Start": [
        ("docs/operations.md", "Start", "sh", ""),
        ("docs/operations.md", "Metrics", "yaml", ""),
    ],
    "docs.Operations.Service": [
        ("docs/operations.md", "Backup", "sh", "files.py backup"),
        ("docs/operations.md", "Restoring", "sh", "files.py restore"),
    ],
    "docs.Operations.Samples": [
        ("deploy/config/team.yaml", "", "sh", ""),
        ("deploy/config/high-availability.yaml", "", "sh", ""),
        ("docs/config.md", "A store in PostgreSQL", "yaml", ""),
    ],
    "docs.Operations.Commands": [("docs/holdfastd.md", "The server program", "sh", "")],
    "docs.Operations.Rights": [("docs/operations.md", "A store in PostgreSQL", "sql", "")],
    "docs.Operations.Rules": [("docs/runbooks.md", "Runbooks", "yaml", "")],
    "docs.Reference.ExamplesRun": [("docs/cli.md", "Command line", "sh", "")],
    "golden.Golden.PrintedConfig": [
        ("docs/config.md", "Configuration of holdfastd", "yaml", "server:"),
    ],
    "chart.Readme": [
        ("helm/holdfast/README.md", "Install", "sh", ""),
        ("helm/holdfast/README.md", "Install", "yaml", ""),
    ],
    "docs.Runbooks.CommandsRun": [("docs/runbooks.md", "Alerts", "sql", "")],
    "alerts.Rules.NameMetricsThatExist": [("docs/runbooks.md", "Alerts", "promql", "")],
    "grafana.Dashboards.KeepTheRules": [("docs/operations.md", "The log", "yaml", "")],
    "docs.Guide.grpcurl": [("docs/guide.md", "grpcurl", "sh", "")],
    "docs.Guide.python": [
        ("docs/guide.md", "Python", "sh", ""),
        ("docs/guide.md", "Python", "python", ""),
    ],
    "docs.Guide.typescript": [("docs/guide.md", "TypeScript", "typescript", "")],
}

# A row -> why nothing runs its blocks.
EXCEPTIONS = {
    ("deploy/prometheus/rules.yaml", "", "sh", ""): "a list of the series that are recorded",
}

FENCE = re.compile(r"^( *)(```+|~~~+) *(\S*)[^\n]*\n(.*?)^ *\2 *$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) (.*?) *$", re.MULTILINE)
EXAMPLES = re.compile(r"^Examples?:\n((?:  .*\n)+)", re.MULTILINE)
COMMENTS = re.compile(r"(?:^ *(?:#|//) {3,}\S.*\n)+", re.MULTILINE)
COMMENT_MARK = re.compile(r"^ *(?:#|//) {3}", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Block:
    document: str
    line: int
    headings: tuple  # that it is below, the title first
    language: str
    body: str

    def covered_by(self, row):
        document, heading, language, text = row
        return (
            (document, language) == (self.document, self.language)
            and heading in self.headings
            and text in self.body
        )


def _headings(text):
    """(position, headings) from each heading on."""
    above = []
    for found in HEADING.finditer(text):
        level = len(found[1])
        above = [(depth, title) for depth, title in above if depth < level]
        above.append((level, found[2]))
        yield found.start(), tuple(title for _, title in above)


def blocks_of_markdown(document, text):
    """The blocks of a Markdown file, in order."""
    plain = FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)
    places = list(_headings(plain))
    for fence in FENCE.finditer(text):
        headings = [titles for position, titles in places if position < fence.start()]
        below = headings[-1] if headings else ()
        line = text.count("\n", 0, fence.start()) + 1
        yield Block(document, line, below, fence[3], fence[4])
        for examples in EXAMPLES.finditer(fence[4] if fence[3] == "text" else ""):
            inside = line + 2 + fence[4].count("\n", 0, examples.start())
            commands = re.sub(r"^  ", "", examples[1], flags=re.MULTILINE)
            yield Block(document, inside, below, "sh", commands)


def blocks_of_comments(document, text):
    """The commands in the comments of another file."""
    for found in COMMENTS.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(document, line, ("",), "sh", COMMENT_MARK.sub("", found[0]))


def blocks_of(document, text):
    read = blocks_of_markdown if document.endswith(".md") else blocks_of_comments
    return list(read(document, text))


def read_document(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Printed:
    """The blocks that a test runs. The test takes them row by row, and at its end has taken all."""

    def __init__(self, test):
        self.test, self.left = test, list(RUN[test])

    def take(self, document, heading, language="sh", text="", whole=None):
        """The bodies of the blocks of a row, in order. `whole`: the text of the document, if it is
        another one than the file's."""
        row = (document, heading, language, text)
        if row not in RUN[self.test]:
            raise ValueError(f"{self.test} has no row {row}")
        if row in self.left:
            self.left.remove(row)
        found = blocks_of(document, read_document(document) if whole is None else whole)
        bodies = [block.body for block in found if block.covered_by(row)]
        if not bodies:
            raise Failed(f"{document} has no block of {language} below `{heading}`")
        return bodies

    def expect_all_taken(self):
        if self.left:
            raise Failed(f"{self.test} has not run {self.left}")
