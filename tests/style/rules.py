"""The project's rules that no compiler checks. A rule is a function from a Tree to its violations.

What may change with the project are the tables at the top.
"""
import fnmatch
import functools
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from compile_commands import commands_in  # noqa: E402

# --- Tables -----------------------------------------------------------------------------------

# folder -> what its files may include, by prefix. STD is every header without a folder and `.h`.
STD = "std"
POSIX = "posix"
WIRE = ["holdfast/", "google/rpc/", "google/protobuf/", "grpc/", "grpcpp/"]
LAYERS = {
    "platform": ["platform/", "absl/", "openssl/", STD],
    "session": ["session/", "platform/", "absl/", STD],
    "store-fs": ["store-fs/", "session/", "platform/", "absl/", "nlohmann/", STD, POSIX],
    "store-postgres": ["store-postgres/", "session/", "platform/", "absl/", STD, POSIX],
    "server": ["server/", "session/", "platform/", "absl/", "openssl/", "yaml-cpp/", "nlohmann/"]
    + [STD, POSIX, "re2/", "opentelemetry/proto/"]
    + WIRE,
    "cli": ["cli/", "platform/option_arguments.h", "absl/", "CLI/", "nlohmann/", STD, POSIX] + WIRE,
}
# These files may see more than their folder: the composition of the stores, the administration of
# databases, the command line, the drivers, the exporter of metrics, and what is stored as JSON.
LAYERS_OF_FILE = {
    "server/stores.cc": ["store-fs/", "store-postgres/"],
    "server/database_*": ["store-postgres/"],
    "server/flags.cc": ["CLI/"],
    "session/snapshot_description.cc": ["nlohmann/"],
    "store-postgres/pg/*": ["libpq-fe.h"],
    "store-postgres/admin/*": ["pqxx/"],
    "server/telemetry/metrics_endpoint.cc": ["prometheus/"],
}
# The reference store shares no decision with the stores that are compared with it.
MUST_NOT_INCLUDE = {
    "tests/support/reference_*": [
        "session/answers.h",
        "session/apply.h",
        "session/bounds.h",
        "session/cancel_requests.h",
        "session/change_decision.h",
        "session/decide.h",
        "session/guard.h",
        "session/kept.h",
    ],
}

LINES = 500
LINES_IN_TESTS = 800
COLUMNS = 100

CLOCKS = ["platform/clock*", "cli/clock*"]  # where the machine's time is read
REACTORS = ["server/rpc/*reactor*"]  # objects that gRPC keeps alive and that delete themselves
WAITS = ["tests/support/wait*"]  # the one place where a test waits for another process

CODE = ["*.cc", "*.h"]
HEADERS = ["*.h"]
TESTS = ["tests/*.cc", "tests/*.h"]
PRODUCT = [f"{folder}/{kind}" for folder in LAYERS for kind in CODE]

# (pattern, what to do instead, files, except in). Comments and string literals do not count.
BANNED_CODE = [
    (r"\busing\s+namespace\b", "no `using namespace` in a header", HEADERS, []),
    (
        r"\b(system_clock|steady_clock|high_resolution_clock)::now\b|\babsl::Now\b"
        r"|\b(clock_gettime|gettimeofday)\b",
        "time is read through the Clock",
        PRODUCT,
        CLOCKS,
    ),
    (
        r"(?<!operator )(?<!<)\bnew\b|(?<!operator )(?<!=)(?<!= )\bdelete\b",
        "no raw new or delete: std::make_unique",
        CODE,
        REACTORS,
    ),
    (
        r"\b__(FILE|BASE_FILE|DATE|TIME|TIMESTAMP)__|\bsource_location\b",
        "the same sources make the same bytes, wherever and whenever they are compiled",
        PRODUCT,
        [],
    ),
    (r"\bstd::views\b|\branges::views\b", "no view pipelines", CODE, []),
    (
        r"\branges::(unique|remove|remove_if|partition|stable_partition|rotate|search|search_n"
        r"|find_end|equal_range|subrange)\b",
        "clang 14, which builds the fuzzers, cannot read a subrange: use the one in std",
        CODE,
        [],
    ),
    (
        r"\b(sleep_for|sleep_until|SleepFor|usleep|nanosleep)\b|(?<![\w.])sleep\s*\(",
        "a test waits for a condition, through tests/support/wait",
        TESTS,
        WAITS,
    ),
    (r"\bGTEST_SKIP\s*\(\s*\)(?!\s*<<)", "a skip says why", TESTS, []),
    (r"\bDISABLED_", "a test runs, or it goes", TESTS, []),
    (
        r"\bLegalTriggers\b|(?<![.\w])Next\(",
        "the reference store has a table of the lifecycle of its own",
        ["tests/support/reference_*"],
        [],
    ),
    (r"^\s*#\s*if\s+0\b", "code that is not compiled goes", CODE, []),
]
# The same for the whole text, comments too, of every file but this folder's.
BANNED_TEXT = [
    (r"\bTODO\b|\bFIXME\b|\bXXX\b", "finish it or write it down where it is planned", ["*"], []),
    (
        r"\bNOLINT(?!NEXTLINE|BEGIN|END)(?!\([\w.-]+(, ?[\w.-]+)*\): \S)"
        r"|\bNOLINT(NEXTLINE|BEGIN)(?!\([\w.-]+(, ?[\w.-]+)*\): \S)",
        "write NOLINT(check-name): reason",
        CODE,
        [],
    ),
]
# Samples of a user's paths belong to ada.
MACHINE_PATHS = r"(?<![\w.$}])/(work|home(?!/ada\b)|root|Users)/"

# --- The tree ---------------------------------------------------------------------------------

NOT_OURS = re.compile(r"^(build|build-.*|\.git|node_modules|\.cache|__pycache__)$")
BINARY = re.compile(r"\.(png|ico|gz|bin|jsonl)$|^tests/golden/root\.\d+/")


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


class Tree:
    """The project's own files, by path relative to its root."""

    def __init__(self, root, compiled=None):
        self.root = root
        self._compiled = compiled
        self.paths = []
        for folder, subfolders, names in os.walk(root):
            subfolders[:] = sorted(name for name in subfolders if not NOT_OURS.match(name))
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name != ".git" and not BINARY.search(path):
                    self.paths.append(path)

    @functools.cached_property
    def texts(self):
        return {path: self._read(path) for path in self.paths}

    def _read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def select(self, patterns, but=()):
        for path in self.paths:
            if matches(path, patterns) and not matches(path, but):
                yield path, self.texts[path]

    @functools.cached_property
    def compiled(self):
        """The sources that some target compiles, alone or in a batch."""
        return {
            os.path.relpath(source, self.root)
            for command in commands_in(self._compiled)
            for source in command.sources()
        }


def line_of(text, position):
    return text.count("\n", 0, position) + 1


COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s"]*)\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![\w])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


def code_only(text):
    """The text with comments and literals blanked out; every line keeps its number."""
    return COMMENT_OR_LITERAL.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<quote>["<])(?P<header>[^">]+)[">]', re.MULTILINE)


def includes(text):
    for found in INCLUDE.finditer(text):
        yield line_of(text, found.start()), found["quote"], found["header"]


# --- Rules ------------------------------------------------------------------------------------


def layering(tree):
    """A file includes only what its folder may see, and project headers by their folder's name."""
    for path, text in tree.select(PRODUCT):
        allowed = LAYERS[path.split("/")[0]] + [
            header
            for pattern, more in LAYERS_OF_FILE.items()
            if fnmatch.fnmatch(path, pattern)
            for header in more
        ]
        prefixes = tuple(prefix for prefix in allowed if prefix.endswith("/"))
        for line, quote, header in includes(text):
            if header.startswith(prefixes) or header in allowed:
                continue
            if quote == "<" and STD in allowed and re.fullmatch(r"[a-z_0-9]+", header):
                continue
            if quote == "<" and POSIX in allowed and re.fullmatch(
                r"(sys/|linux/|netinet/|arpa/|net/)?[a-z_0-9]+\.h", header
            ):
                continue
            yield f"{path}:{line}: {path.split('/')[0]}/ must not include {header}"
    for pattern, headers in MUST_NOT_INCLUDE.items():
        for path, text in tree.select([pattern]):
            for line, _, header in includes(text):
                if header in headers:
                    yield f"{path}:{line}: {pattern} must not include {header}"


def sizes(tree):
    """A file that is too long is a room to divide."""
    for path, text in tree.select(CODE + ["*.proto", "*.py", "*.cmake", "scripts/*"]):
        most = LINES_IN_TESTS if path.startswith("tests/") else LINES
        lines = text.count("\n")
        if lines > most:
            yield f"{path}:{lines}: more than {most} lines"


def width(tree):
    """A line fits on the page; only one that cannot be broken, such as an address, may not."""
    for path, text in tree.select(CODE + ["*.proto", "*.py", "*.cmake", "CMakeLists.txt"]):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS and "://" not in line and not line.startswith("#include"):
                yield f"{path}:{number}: {len(line)} columns, more than {COLUMNS}"


def banned(tree):
    """Words that must not appear, each with what to do instead."""
    for table, view in ((BANNED_CODE, code_only), (BANNED_TEXT, str)):
        for pattern, instead, files, but in table:
            for path, text in tree.select(files, but + ["tests/style/*"]):
                seen = view(text)
                for found in re.finditer(pattern, seen, re.MULTILINE):
                    word = found.group().strip()
                    yield f"{path}:{line_of(seen, found.start())}: `{word}`: {instead}"


def dead_files(tree):
    """Every header is included by another file or put before all by the build, and every source is
    compiled into a target."""
    included = {}
    for path, text in tree.select(CODE):
        for _, _, header in includes(text):
            included.setdefault(header, set()).add(path)
    for path, text in tree.select(["CMakeLists.txt"]):
        for header in re.findall(r"-include \$\{CMAKE_SOURCE_DIR\}/([\w./]+)", text):
            included.setdefault(header, set()).add(path)
    for path, _ in tree.select(HEADERS):
        if not included.get(path, set()) - {path}:
            yield f"{path}:1: no file includes it"
    sources = [path for path, _ in tree.select(["*.cc"])]
    for path in sources:
        if path not in tree.compiled:
            yield f"{path}:1: no target compiles it"


def machine_paths(tree):
    """The project does not know the machine it was written on."""
    for path, text in tree.select(["*"], ["tests/style/*"]):
        for found in re.finditer(MACHINE_PATHS, text):
            yield f"{path}:{line_of(text, found.start())}: a path of one machine, {found.group()}"


CONTRACT = "session/store.h"
SENTENCE = re.compile(r"\[C(\d+)\]")
CASE = re.compile(r"\bTEST(?:_[FP])?\(\s*\w+,\s*C(\d+)_")
TYPED_CASE = re.compile(r"\bTYPED_TEST(?:_P)?\(\s*\w+,\s*C(\d+)_")


def contract(tree):
    """Every numbered sentence of the store's contract has a test with its number, and the reverse.

    A sentence is marked [C012] once in session/store.h; its tests, under tests/contract, are named
    C012_WhatItSays.
    """
    sentences, cases = {}, {}
    for path, text in tree.select([CONTRACT]):
        for found in SENTENCE.finditer(text):
            number, line = found[1], line_of(text, found.start())
            if len(number) != 3:
                yield f"{path}:{line}: [C{number}] needs three digits"
            elif number in sentences:
                yield f"{path}:{line}: [C{number}] is marked twice"
            sentences[number] = line
    for path, text in tree.select(["tests/contract/*.cc", "tests/contract/*.h"]):
        for pattern in (CASE, TYPED_CASE):
            for found in pattern.finditer(text):
                cases[found[1]] = f"{path}:{line_of(text, found.start())}"
    for number in sorted(set(sentences) - set(cases)):
        yield f"{CONTRACT}:{sentences[number]}: [C{number}] has no test C{number}_..."
    for number in sorted(set(cases) - set(sentences)):
        yield f"{cases[number]}: C{number} is no sentence of {CONTRACT}"


RULES = {
    rule.__name__: rule
    for rule in (layering, sizes, width, banned, dead_files, machine_paths, contract)
}
