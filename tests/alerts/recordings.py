"""What the recording rules record, of series whose result is known, and changes of them that must
be seen."""
import re

import promtool
from metric_table import MetricTable
from programs import Folder

OF_A = {"job": "holdfast", "instance": "a:9464"}
OF_B = {"job": "holdfast", "instance": "b:9464"}
SERVERS_FAULT = {
    "DAMAGED",
    "INTERNAL",
    "MANIFEST_DRIFT",
    "OVERLOADED",
    "SNAPSHOT_FAILED",
    "STORAGE_FULL",
    "STORE_UNAVAILABLE",
}
OF_A_TURN = {"BeginTurn", "AppendJournal", "CommitTurn"}
LAST, BEFORE = 3, 10  # minutes in which something goes wrong; minutes before the window
CALLS = 1000  # a minute
SERVED, FAILED, FAILED_SLOWLY = 100, 50, 4  # of each method, a minute
# Label of a limit -> the metrics of what is used of it, and of the limit.
LIMITS = {
    "limits.queued_calls": ("holdfast_queued_calls", "holdfast_queued_calls_limit"),
    "limits.memory_budget": (
        "holdfast_memory_budget_used_bytes",
        "holdfast_memory_budget_limit_bytes",
    ),
    "limits.staged_bytes": ("holdfast_staged_used_bytes", "holdfast_staged_limit_bytes"),
    "limits.watchers": ("holdfast_watchers", "holdfast_watchers_limit"),
    "server.connections": ("holdfast_connections", "holdfast_connections_limit"),
    "process_memory": ("holdfast_process_guarded_bytes", "holdfast_process_guarded_limit_bytes"),
    "open_files": ("process_open_fds", "process_max_fds"),
}


def late(end, step, before=0):
    """A counter of `end` minutes that moves by `before` each, and by `step` in the last ones."""
    calm = end - LAST
    return f"0+{before}x{calm} {before * calm + step}+{step}x{LAST - 1}"


def series(end):
    """(the series, by their names; failed calls a minute in the end; of a turn's calls the slow
    ones, and those that were served)."""
    made, failed, slow, served = {}, 0, 0, 0
    reasons = MetricTable().allowed("holdfast_rpc_refused_total", "reason")
    for number, reason in enumerate(sorted(reasons)):
        labels = {**(OF_A if number % 2 else OF_B), "reason": reason}
        made[promtool.selector("holdfast_rpc_refused_total", labels)] = late(end, number + 1)
        failed += number + 1 if reason in SERVERS_FAULT else 0
    for labels in (OF_A, OF_B):
        handled = {**labels, "method": "Echo", "code": "OK"}
        made[promtool.selector("holdfast_rpc_handled_total", handled)] = f"0+{CALLS // 2}x{end}"
    duration = "holdfast_rpc_duration_seconds"
    for number, method in enumerate([*sorted(OF_A_TURN), "ReadSession", "CommitTurnStream"]):
        within = 90 - number**2
        outcomes = {
            "ok": (SERVED, (("0.1", 10), ("0.25", within), ("0.5", 95))),
            "failed": (FAILED, (("0.1", 40), ("0.25", FAILED - FAILED_SLOWLY), ("0.5", 48))),
        }
        for outcome, (calls, buckets) in outcomes.items():
            labels = {**OF_A, "method": method, "outcome": outcome}
            for bound, step in buckets:
                bucket = promtool.selector(f"{duration}_bucket", {**labels, "le": bound})
                made[bucket] = late(end, step, calls)
            made[promtool.selector(f"{duration}_count", labels)] = f"0+{calls}x{end}"
        if method in OF_A_TURN:
            slow += SERVED - within + FAILED_SLOWLY
            served += SERVED
    for number, (used, limit) in enumerate(LIMITS.values()):
        made[promtool.selector(used, OF_A)] = f"{number + 1}x{end}"
        made[promtool.selector(limit, OF_A)] = f"10x{end}"
        other = {"job": "other", "instance": "c"}
        made[promtool.selector(used, other)] = f"9x{end}"
        made[promtool.selector(limit, other)] = f"10x{end}"
    made[promtool.selector("holdfast_build_info", {**OF_A, "version": "1"})] = f"1x{end}"
    return made, failed, (slow, served)


def near(name, labels, value, end):
    """That one series is as large as it must be."""
    expected = promtool.selector(name, labels).replace(name, "", 1)
    asked = promtool.selector(name, {key: labels[key] for key in labels if key == "limit"})
    return promtool.expectation(f"abs({asked} - {value}) < bool 1e-9", end, [(expected, 1)])


def window_of(rule):
    """Its minutes; 0 of a rule without a window."""
    name = rule["record"]
    return 0 if name.startswith("instance:") else promtool.minutes(name.rpartition("rate")[2])


def wanted(rule, failed, turns, end):
    """What a rule must have recorded in the end."""
    name = rule["record"]
    if name.startswith("instance:"):
        limit = rule["labels"]["limit"]
        share = (list(LIMITS).index(limit) + 1) / 10
        samples = [({**OF_A, "limit": limit}, share)]
        if limit != "open_files":  # which other programs have too
            samples.append(({"job": "other", "instance": "c", "limit": limit}, 0.9))
        expected = [(promtool.selector("", labels), share) for labels, share in samples]
        return promtool.expectation(f'round({name}{{limit="{limit}"}} * 10) / 10', end, expected)
    window = window_of(rule)
    if "failed" in name:
        return near(name, {"job": "holdfast"}, LAST * failed / (CALLS * window), end)
    slow, served = turns
    slowly_failed = LAST * FAILED_SLOWLY * len(OF_A_TURN)
    return near(
        name, {"job": "holdfast"}, LAST * slow / (served * window + slowly_failed), end
    )


def mutants(rule):
    """The rule with another window, without one of its reasons or methods, with another bound, or
    with another operation."""
    text = rule["expr"]
    changes = [(f"[{window}]", "[7m]") for window in re.findall(r"\[(\w+)\]", text)]
    changes += [('le="0.25"', 'le="0.1"'), ('le="0.25"', 'le="0.5"'), (" / ", " * ")]
    changes += [('outcome="ok"', 'outcome="failed"'), (',outcome="ok"', ""), ("+ sum", "- sum")]
    for listed in re.findall(r'=~"([^"]+)"', text):
        words = listed.split("|")
        changes += [(listed, "|".join(w for w in words if w != word)) for word in words]
    changes.append((" and on (job, namespace, instance) holdfast_build_info", ""))
    for old, new in dict.fromkeys(changes):
        if old in text:
            yield f"'{old}' becomes '{new}'", rule | {"expr": text.replace(old, new)}


def every_rule_records():
    """Rules that record something else, and changes of them that are not seen."""
    said, paths = {}, {}
    with Folder() as folder:
        for number, rule in enumerate(promtool.rules_in(promtool.RULES)):
            where = f"{rule['record']} {rule.get('labels', '')}"
            end = window_of(rule) + BEFORE
            made, failed, turns = series(end)
            names = re.findall(r"[a-z_]+", rule["expr"])
            inputs = {key: values for key, values in made.items() if key.split("{")[0] in names}
            tests = [(where, inputs, [wanted(rule, failed, turns, end)])]
            sound = promtool.write_tests(folder, f"{number}", [rule], tests, f"{end}m")
            paths[sound] = where
            for other, (what, mutant) in enumerate(mutants(rule)):
                path = promtool.write_tests(folder, f"{number}.{other}", [mutant], tests, f"{end}m")
                said[path] = f"{where}: no test sees that {what}"
        found = promtool.failures([*paths, *said])
    for path, where in paths.items():
        if path in found:
            yield f"{where}: {found[path][:1000]}"
    for path, words in said.items():
        if path not in found:
            yield words
    print(f"figure: {len(said)} mutants caught")
