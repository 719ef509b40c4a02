"""The rule on words: names and texts use the terms of the field, by which readers search.

Comments, identifiers, error texts, test names, scripts and Markdown are read alike. Identifiers are
read word by word: `tell peers`, `TellPeers` and `tell_peers` are the same words.
"""
import re

from rules import matches

# (dropped words as a pattern, what to say instead)
TERMS = [
    (r"whoever|nobody|somebody|someone", "the caller, the client, the operator, or `no client`"),
    (r"tell|tells|telling|told|untold", "notify, return, report, distinguish"),
    (r"judge|judges|judged|judging|judgement|judgment", "classify, check, compare, evaluate"),
    (r"(?:let|lets|letting) in", "admit"),
    (r"(?:go|goes|going|went) the way of", "is handled as"),
    (r"stands|stood", "is, exists, is stored"),
    (r"wish|wishes|wished", "request, option"),
    (r"fold|folds|folded|folding", "apply"),
    (r"bury|buries|buried|grave|graves", "delete, tombstone"),
    (r"farewell|farewells", "shutdown message"),
    (r"spoil|spoils|spoiled|spoiling|spoiler|spoilers", "poisoned"),
    (r"foresee|foresees|foreseen|foreseeing", "precheck"),
    (r"unstage|unstages|unstaged|unstaging", "resolve the upload"),
    (r"census", "DirectoryScanner"),
    (r"greet|greets|greeted|greeting|greetings", "ConnectionCheck"),
    (r"off core|sharer|sharers", "ScopedBlockingCall"),
    (r"event bell", "ChangeNotifier"),
    (r"cancel marks?|cancellation marks?", "CancelRequest"),
    (r"the house", "the project"),
    (
        r"(?:design|stores|wire|house|figures) sections? \w+|systems md|stores md|house md",
        "a document of this repository",
    ),
]

# (paths, pattern of the dropped words that may stay there, why)
EXCEPTIONS = [
    (["tests/style/terms.py", "tests/style/term_samples.py"], r".*", "this list and its samples"),
    (["tests/data/*"], r".*", "conversations that are data"),
    (["*.bin", "*.binpb", "*/go.mod", "*/go.sum"], r".*", "no text of this project"),
    (["store-fs/root.*", "docs/adr/0007-*"], r"fold.*", "file systems fold upper and lower case"),
]

CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SEPARATORS = re.compile(r"[_\-.*/]+")


def words_of(line):
    """The line with every identifier taken apart into words, in lower case."""
    return SEPARATORS.sub(" ", CASE.sub(" ", line)).lower()


def allowed(path, word):
    return any(
        matches(path, paths) and re.fullmatch(pattern, word) for paths, pattern, _ in EXCEPTIONS
    )


def terms(tree):
    """No text and no name has a word that was dropped for a term of the field."""
    rows = [(re.compile(rf"\b(?:{pattern})\b"), instead) for pattern, instead in TERMS]
    for path, text in tree.select(["*"]):
        whole = words_of(text)
        if not any(row.search(whole) for row, _ in rows):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            words = words_of(line)
            for row, instead in rows:
                for found in row.finditer(words):
                    if not allowed(path, found[0]):
                        yield f"{path}:{number}: `{found[0]}`: {instead}"


RULES = {"terms": terms}
