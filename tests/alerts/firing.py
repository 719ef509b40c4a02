"""Each alert fires when it must, to the minute, and not otherwise; and each change of its
expression or of its `for` is seen by these tests."""
import re

from cases import CASES
from promtool import alerts, expectation, failures, minutes, selector, write_tests
from programs import Folder

NAMESPACE = {"namespace": "agents"}
FLIPPED = {">": "<", "<": ">", ">=": "<", "==": "!="}
JOINED = {"and": "or", "or": "and", "unless": "and"}


def test_of(name, rule):
    """The cases of an alert as one test of promtool: each case has jobs of its own, once with and
    once without a label `namespace`."""
    wait = int(minutes(rule.get("for", "0m")))
    inputs, wanted = {}, []
    for number, case in enumerate(CASES[name]):
        for more in ({}, NAMESPACE):

            def own(labels, number=number, more=more):
                return {**labels, "job": f"{labels['job']}-{number}", **more}

            for metric, labels, values in case.series:
                inputs[selector(metric, own(labels))] = " ".join(map(str, values))
            known = {"alertname": name, "alertstate": "firing"}
            within = f'job=~".*-{number}",namespace="{more.get("namespace", "")}"'
            firing = selector("ALERTS", known).replace("}", f",{within}}}")
            fires = [
                (selector("ALERTS", own(labels) | known | rule["labels"]), 1)
                for labels in case.fires
            ]
            last = case.minutes + 1 if case.since is None else case.since + wait
            wanted += [expectation(firing, minute, []) for minute in range(last)]
            if case.since is not None:
                wanted.append(expectation(firing, last, fires))
    return name, inputs, wanted


def every_alert_fires():
    """What promtool finds wrong with the alerts as they are."""
    rules = alerts()
    for name in rules.keys() ^ CASES.keys():
        yield f"{name}: has no cases, or is no alert"
    for name, cases in CASES.items():
        if not any(case.fires for case in cases) or all(case.fires for case in cases):
            yield f"{name}: needs a case that fires and one that does not"
    with Folder() as folder:
        paths = [
            write_tests(folder, name, [rule], [test_of(name, rule)]) for name, rule in rules.items()
        ]
        for path, said in failures(paths).items():
            yield f"{path}: {said[:2000]}"


def pieces(pattern, text):
    """Each match of the pattern that is in no string and no window."""
    hidden = re.sub(r'"[^"]*"|\[[^]]*\]', lambda found: "_" * len(found.group()), text)
    return re.finditer(pattern, hidden)


def mutants(rule):
    """(what was changed, the changed rule): comparisons are flipped, numbers doubled and halved (0
    becomes -1 and 5), `and`, `or` and `unless` exchanged, and `for` is a minute more or less."""
    text = rule["expr"]

    def changed(found, by):
        words = text[: found.start()] + by + text[found.end() :]
        return f"'{found.group()}' at {found.start()} becomes '{by}'", rule | {"expr": words}

    for found in pieces(r">=|==|>|<", text):
        yield changed(found, FLIPPED[found.group()])
    for found in pieces(r"(?<![\w.:])\d+(\.\d+)?(?![\w.:])", text):
        value = float(found.group())
        for by in (value * 2, value / 2) if value else (-1, 5):
            yield changed(found, repr(by))
    for found in pieces(r"\b(and|or|unless)\b", text):
        yield changed(found, JOINED[found.group()])
    wait = int(minutes(rule.get("for", "0m")))
    for other in (wait + 1, wait - 1):
        if other >= 0:
            yield f"for is {other}m", rule | {"for": f"{other}m"}


def every_mutant_fails():
    """Changes of alerts that no test sees."""
    with Folder() as folder:
        said, count = {}, {}
        for name, rule in alerts().items():
            tests = [test_of(name, rule)]
            for number, (what, mutant) in enumerate(mutants(rule)):
                path = write_tests(folder, f"{name}.{number}", [mutant], tests)
                said[path] = f"{name}: no test sees that {what}"
                count[name] = number + 1
        caught = failures(list(said))
        for name in alerts():
            if count.get(name, 0) < 1:
                yield f"{name}: has no mutant"
        for path, words in said.items():
            if path not in caught:
                yield words
    print(f"figure: {len(caught)} mutants caught")
