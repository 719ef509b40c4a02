"""The rule that sources which may be compiled as one declare different names."""
import re

from rules import LAYERS, code_only

# Folders of tests whose sources are compiled alone.
ALONE = ("tests/preload",)

# What a line at the left margin declares: a type, or else what is before the first of ( = { ;
TYPE = re.compile(r"(?:class|struct|union|enum class|enum) (\w+)")
OTHER = re.compile(r"(?<!::)\b(\w+)(?:\[[^\]]*\])* ?[(={;]")
USING = re.compile(r"(?:using|namespace) (\w+) =|using (?:\w+::)*(\w+);")
ENUM = re.compile(r"^enum \w+ : \w+ \{(.*?)\};", re.MULTILINE | re.DOTALL)
ENUMERATOR = re.compile(r"\b(\w+)(?: = [^,}]+)?(?=,|\s*$)")
INTERNAL = ("static ", "constexpr ", "const ")
NOT_NAMES = ("__attribute__", "const", "operator", "static_assert")
# Macros, of which each use has names of its own.
MACROS = ("TEST", "TEST_F", "TEST_P", "INSTANTIATE_TEST_SUITE_P")
# A constant within a function or a class.
LOCAL = re.compile(r" +(?:static )?const(?:expr)? [^(;={]*?\b(k[A-Z]\w*)(?:\[\w*\])* ?[={]")


def declared(line):
    """The name that a line at the left margin declares, and the line if others may repeat it."""
    found = USING.match(line)
    if found:
        return found[1] or found[2], line
    line = re.sub(r"\[\[.*?\]\] ?|ABSL_\w+(\([^)]*\))? ?", "", line)
    found = TYPE.match(line) or OTHER.search(line)
    if not found or line.startswith(("template", "namespace")):
        return None, None
    if found[1] in NOT_NAMES or found[1] in MACROS:
        return None, None
    return found[1], None


def declared_names(text):
    """Line, name and repeatable text of what a source declares for itself alone, without the values
    of enumerations."""
    code = code_only(text)
    inside = False
    for number, (line, full) in enumerate(zip(code.split("\n"), text.split("\n")), 1):
        if line == "namespace {":
            inside = True
        elif full == "}  // namespace":
            inside = False
        elif re.match(r"[\w:\[]", line) and (inside or line.startswith(INTERNAL)):
            name, repeatable = declared(line.rstrip())
            if name:
                yield number, name, repeatable


def internal_names(text):
    """Line, name and repeatable text of what a source declares for itself alone."""
    yield from declared_names(text)
    code = code_only(text)
    for found in ENUM.finditer(code):
        for name in ENUMERATOR.findall(found[1]):
            yield code.count("\n", 0, found.start()) + 1, name, None


def local_constants(text):
    """Line and name of each constant within a function or a class."""
    for number, line in enumerate(code_only(text).split("\n"), 1):
        found = LOCAL.match(line)
        if found:
            yield number, found[1]


def test_folders(tree):
    """The folders of tests with sources that may be compiled as one."""
    folders = {"/".join(path.split("/")[:2]) for path, _ in tree.select(["tests/*/*.cc"])}
    return sorted(folders.difference(ALONE))


def batched_names(tree):
    """A name that one source of a folder has for itself is no other's there: a batch compiles both
    as one, and a new source moves others to another batch. The same `using` may be repeated. Nor
    is it a constant of a function elsewhere, which would hide it: -Wshadow refuses that."""
    for folder in [*LAYERS, *test_folders(tree)]:
        sources = list(tree.select([f"{folder}/*.cc"], ["*/main.cc"]))
        first, constants = {}, {}
        for path, text in sources:
            for _, name, _ in declared_names(text):
                constants.setdefault(name, path)
            for line, name, repeatable in internal_names(text):
                other, same = first.setdefault(name, (path, repeatable))
                if other != path and (repeatable is None or repeatable != same):
                    yield f"{path}:{line}: {other} declares `{name}` too: name it more precisely"
        for path, text in sources:
            for line, name in local_constants(text):
                other = constants.get(name, path)
                if other != path:
                    yield f"{path}:{line}: `{name}` hides that of {other}: name it more precisely"


RULES = {"batched_names": batched_names}
