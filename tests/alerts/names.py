"""Every metric, label and value that the rules name is one of the server's."""
import os
import re

import promtool
from inventory import FENCE, Printed, read_document
from metric_table import MetricTable
from programs import Folder, run

RUNBOOKS = "docs/runbooks.md"
TARGET = {"job", "namespace", "instance"}  # labels that Prometheus gives
SELECTOR = re.compile(r"\b([a-z][a-z_]*:?[a-z_]*:?\w*)(?:\{([^}]*)\})?(?=[\s)\[]|$)")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
OURS = ("holdfast_", "process_")


def problems(where, expression, table, recorded):
    """What is wrong with the names of an expression."""
    plain = re.sub(r'"[^"]*"', lambda found: found.group().replace("{", "_"), expression)
    for name, inside in SELECTOR.findall(plain):
        if ":" in name:
            if name not in recorded:
                yield f"{where}: no rule records {name}"
            continue
        if not name.startswith(OURS):
            continue
        metric = table.base(name)
        if metric is None:
            yield f"{where}: there is no metric {name}"
            continue
        for label, operator, value in MATCHER.findall(inside):
            if label in TARGET:
                continue
            if label not in table.labels(name):
                yield f"{where}: {metric} has no label {label}"
                continue
            for one in value.split("|") if "~" in operator else [value]:
                if one not in table.allowed(name, label):
                    yield f"{where}: {label} of {metric} is never {one}"


OUR_SERIES = re.compile(r"\b(holdfast|process)_[a-z]+_[a-z_]+|:holdfast_|\bholdfast_[a-z]+\b")


def documented_queries():
    """The PromQL of the runbooks: each line of a block, and each text between backticks that names
    one of our series."""
    printed = Printed("alerts.Rules.NameMetricsThatExist")
    found = "".join(printed.take(RUNBOOKS, "Alerts", "promql")).splitlines()
    between = re.findall(r"`([^`\n]+)`", FENCE.sub("", read_document(RUNBOOKS)))
    return found + [query for query in between if OUR_SERIES.search(query)]


def every_query_is_valid(queries):
    """Queries that Prometheus does not take."""
    with Folder() as folder:
        path = os.path.join(folder, "queries.yaml")
        rules = [{"record": f"query{n}", "expr": query} for n, query in enumerate(queries)]
        promtool.write(path, {"groups": [{"name": "queries", "rules": rules}]})
        ended = run(["promtool", "check", "rules", path])
        if ended.returncode != 0:
            yield ended.stdout


def every_name_exists():
    """Names of the rules that no server has."""
    table = MetricTable()
    rules = promtool.rules_in(promtool.RULES) + promtool.rules_in(promtool.ALERTS)
    recorded = {rule["record"] for rule in rules if "record" in rule}
    for rule in rules:
        where = rule.get("record") or rule["alert"]
        yield from problems(where, rule["expr"], table, recorded)
    queries = documented_queries()
    if len(queries) < len(rules) // 2:
        yield f"{RUNBOOKS} has {len(queries)} queries"
    for query in queries:
        yield from problems(f"runbooks: {query}", query, table, recorded)
    yield from every_query_is_valid(queries)
    used = " ".join(rule["expr"] for rule in rules if "alert" in rule)
    for name in sorted(recorded):
        if name not in used:
            yield f"{name}: no alert uses it"
    for wrong, word in SAMPLES.items():
        if not any(word in said for said in problems("", wrong, table, recorded)):
            yield f"`{wrong}` passes"


# What must be refused, and for which word.
SAMPLES = {
    "holdfast_rpc_refusals_total > 0": "no metric",
    'rate(holdfast_rpc_refused_total{reason="OVERLOAD"}[5m])': "never OVERLOAD",
    'rate(holdfast_rpc_refused_total{reason=~"INTERNAL|NONE"}[5m])': "never NONE",
    'rate(holdfast_rpc_refused_total{method="Echo"}[5m])': "no label method",
    'holdfast_rpc_duration_seconds_bucket{le="0.3"}': "never 0.3",
    "job:holdfast_calls_failed:ratio_rate9m > 1": "no rule records",
}
