"""Rules that keep the documents true: they list what the code has, and what they name exists."""
import os
import re

from rules import line_of

API = "docs/api.md"
REASONS = "session/reasons.cc"

ROW = re.compile(
    r'\{Reason::k\w+,\s*"(\w+)",\s*StatusCode::k(\w+),\s*"([^"]*)",\s*'
    r'Retry::k(\w+),\s*(true|false)\}'
)
WORDS = re.compile(r'case Retry::k(\w+):\s*return "([^"]*)";')
RESERVED = "reserved"
NOTHING = "–"


def grpc_name(code):
    """`FailedPrecondition` as gRPC writes it."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", code).upper()


def cells(line):
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def section(text, heading):
    """(line number, line) of everything under `## heading`."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            inside = line[3:].strip() == heading
        elif inside:
            yield number, line


def coded_reasons(tree):
    """reason -> the row that docs/api.md must have."""
    text = tree.texts.get(REASONS, "")
    words = dict(WORDS.findall(text))
    return {
        name: [
            name,
            grpc_name(status),
            code or NOTHING,
            words.get(retry, "?"),
            RESERVED if reserved == "true" else "",
        ]
        for name, status, code, retry, reserved in ROW.findall(text)
    }


def documented_reasons(tree):
    """The table of reasons in docs/api.md is the one of session/reasons.cc, row by row."""
    coded = coded_reasons(tree)
    if not coded:
        yield f"{REASONS}:1: no row of the table is understood"
    shown = {}
    for number, line in section(tree.texts.get(API, ""), "Reasons"):
        row = cells(line)
        if not re.fullmatch(r"[A-Z_]{3,}", row[0]):
            continue
        shown[row[0]] = number
        if row[0] not in coded:
            yield f"{API}:{number}: {row[0]} is no reason of {REASONS}"
        elif row[:5] != coded[row[0]]:
            yield f"{API}:{number}: {row[0]} must read {coded[row[0]]}"
    for name in sorted(set(coded) - set(shown)):
        yield f"{API}:1: the reason {name} is missing"
    if [name for name in shown if name in coded] != [name for name in coded if name in shown]:
        yield f"{API}:1: the reasons stand in another order than in {REASONS}"


RPC = re.compile(r"^\s*rpc\s+(\w+)\s*\(", re.MULTILINE)


def documented_methods(tree):
    """Every rpc has its row among the methods in docs/api.md, and every row its rpc.

    A row names reasons that exist and are not reserved, and each such reason stands in some row.
    """
    rpcs = {}
    for path, text in tree.select(["protos/holdfast/*.proto"]):
        for found in RPC.finditer(text):
            rpcs[found[1]] = f"{path}:{line_of(text, found.start())}"
    coded = coded_reasons(tree)
    rows, caused = set(), set()
    for number, line in section(tree.texts.get(API, ""), "Methods"):
        if not re.match(r"\| *`", line):
            continue
        name = cells(line)[0]
        rows.add(name)
        if name not in rpcs and re.fullmatch(r"[A-Z][a-z]\w+", name):
            yield f"{API}:{number}: {name} is no method of the protos"
        for reason in re.findall(r"`([A-Z][A-Z_]{3,})`", line.split("|", 2)[2]):
            caused.add(reason)
            if reason not in coded:
                yield f"{API}:{number}: {reason} is no reason of {REASONS}"
            elif coded[reason][4] == RESERVED:
                yield f"{API}:{number}: {reason} is reserved, and {name} shall cause it"
    for name in sorted(set(rpcs) - rows):
        yield f"{rpcs[name]}: {name} has no row in {API}"
    for name, row in coded.items():
        if row[4] != RESERVED and name not in caused:
            yield f"{API}:1: no method is said to cause {name}"


GROUPS = ("any call", "session", "write", "lease")
REASON = re.compile(r"`([A-Z][A-Z_]{3,})`")
# The columns of what to do, and the advice of session/reasons.cc that each stands for.
TO_DO = [
    [
        "with the same request id",
        "after RetryInfo",
        "after RetryInfo, with the same request id, or force",
        "later",
        "from the cursor",
        "with credentials",
    ],
    ["after reading the session", "from what is kept"],
    ["after a resume", "resume it instead"],
    ["never", "by stream, or never"],
]


def caused_by(rows, name):
    """The reasons that a row of the table of methods stands for, with its groups and methods."""
    text = rows[name]
    lead = re.split(r"[;.]", text)[0]
    excluded = set(re.findall(r"but not `([A-Z_]+)`", lead))
    found = set(REASON.findall(text)) - excluded
    for group in GROUPS:
        if name not in GROUPS and re.search(rf"\b{group}\b", re.sub(r"\([^)]*\)", "", lead)):
            found |= caused_by(rows, group) - excluded
    for other in re.findall(r"what (\w+) causes", text):
        found |= caused_by(rows, other)
    return found


def documented_retries(tree):
    """`What to do, by method` has a row for each method: its reasons, by what a client does next.

    What every call can cause stands in the row of `any call` alone.
    """
    coded = coded_reasons(tree)
    text = tree.texts.get(API, "")
    rows = {
        cells(line)[0]: line.split("|", 2)[2]
        for _, line in section(text, "Methods")
        if re.match(r"\| *`", line)
    }
    shown = {
        cells(line)[0]: (number, line)
        for number, line in section(text, "What to do, by method")
        if re.match(r"\| *`", line)
    }
    common = caused_by(rows, GROUPS[0]) if GROUPS[0] in rows else set()
    for method in rows:
        if method in GROUPS[1:]:
            continue
        own = caused_by(rows, method) - (common if method != GROUPS[0] else set())
        columns = []
        for advice in TO_DO:
            listed = [name for name, row in coded.items() if name in own and row[3] in advice]
            columns.append(", ".join(f"`{reason}`" for reason in listed) or NOTHING)
        wanted = f"| `{method}` | " + " | ".join(columns) + " |"
        number, line = shown.get(method, (1, ""))
        if line != wanted:
            yield f"{API}:{number}: the row of what to do must read: {wanted}"
    for name in sorted(set(shown) - set(rows)):
        yield f"{API}:{shown[name][0]}: {name} is no row among the methods"
    for name, row in coded.items():
        if row[4] != RESERVED and not any(row[3] in advice for advice in TO_DO):
            yield f"{API}:1: no column of what to do takes `{row[3]}` of {name}"


FENCED = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|^\[[^\]\n]+\]:\s*(\S+)", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:")


def blank(pattern, text):
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def anchors(text):
    """What a link may name behind `#`: the headings as a web page of the text would."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", blank(FENCED, text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(tree):
    """A link to a file of the project leads to a file that is there, and to a heading of it."""
    for path, text in tree.select(["*.md"]):
        seen = blank(INLINE, blank(FENCED, text))
        for found in LINK.finditer(seen):
            target = found[1] or found[2]
            if ELSEWHERE.match(target):
                continue
            file, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            where = f"{path}:{line_of(seen, found.start())}"
            if to.startswith("..") or not os.path.exists(os.path.join(tree.root, to)):
                yield f"{where}: there is no {target}"
            elif anchor and anchor not in anchors(tree.texts.get(to, "")):
                yield f"{where}: {to} has no heading #{anchor}"


FOLDERS = (
    "session|store-fs|store-postgres|server|cli|protos|scripts|cmake|docs|tests|helm"
)
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./-]*\w)(?::\d+)?`")


def named_files(tree):
    """A file or folder of the project that a document names between backticks is there."""
    for path, text in tree.select(["*.md"]):
        seen = blank(FENCED, text)
        for found in NAMED.finditer(seen):
            if not os.path.exists(os.path.join(tree.root, found[1])):
                yield f"{path}:{line_of(seen, found.start())}: there is no {found[1]}"


CHECKS = (documented_reasons, documented_methods, documented_retries, links, named_files)
RULES = {rule.__name__: rule for rule in CHECKS}
