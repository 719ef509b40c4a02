"""The rule that sources which may be compiled as one declare different names."""
import re

from rules import LAYERS, code_only

# What a line at the left margin declares: a type, or else what is before the first of ( = { ;
TYPE = re.compile(r"(?:class|struct|union|enum class|enum) (\w+)")
OTHER = re.compile(r"(?<!::)\b(\w+)(?:\[[^\]]*\])* ?[(={;]")
USING = re.compile(r"using (\w+) =|using (?:\w+::)*(\w+);")
ENUM = re.compile(r"^enum \w+ : \w+ \{(.*?)\};", re.MULTILINE | re.DOTALL)
ENUMERATOR = re.compile(r"\b(\w+)(?: = [^,}]+)?(?=,|\s*$)")
INTERNAL = ("static ", "constexpr ", "const ")
NOT_NAMES = ("__attribute__", "const", "operator", "static_assert")


def declared(line):
    """The name that a line at the left margin declares, and the line if others may repeat it."""
    found = USING.match(line)
    if found:
        return found[1] or found[2], line
    line = re.sub(r"\[\[.*?\]\] ?|ABSL_\w+(\([^)]*\))? ?", "", line)
    found = TYPE.match(line) or OTHER.search(line)
    if not found or line.startswith(("template", "namespace")) or found[1] in NOT_NAMES:
        return None, None
    return found[1], None


def internal_names(text):
    """Line, name and repeatable text of what a source declares for itself alone."""
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
    for found in ENUM.finditer(code):
        for name in ENUMERATOR.findall(found[1]):
            yield code.count("\n", 0, found.start()) + 1, name, None


def batched_names(tree):
    """A name that one source of a folder has for itself is no other's there: a batch compiles both
    as one, and a new source moves others to another batch. The same `using` may be repeated."""
    for folder in LAYERS:
        first = {}
        for path, text in tree.select([f"{folder}/*.cc"], ["*/main.cc"]):
            for line, name, repeatable in internal_names(text):
                other, same = first.setdefault(name, (path, repeatable))
                if other != path and (repeatable is None or repeatable != same):
                    yield f"{path}:{line}: {other} declares `{name}` too: name it more precisely"


RULES = {"batched_names": batched_names}
