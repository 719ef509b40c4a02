"""For each rule changes of the dashboards, or of the data sources, that it must refuse."""


def panel(boards, title, board="sessions"):
    (found,) = [shown for shown in boards[board]["panels"] if shown["title"] == title]
    return found


def target(boards, title, board="sessions"):
    return panel(boards, title, board)["targets"][0]


def variable(boards, name, board="sessions"):
    (found,) = [each for each in boards[board]["templating"]["list"] if each["name"] == name]
    return found


def change_query(title, before, after, board="sessions", key="expr"):
    def change(boards):
        found = target(boards, title, board)
        if before not in found[key]:
            raise SystemExit(f"grafana: a mutant finds no {before} in {found[key]}")
        found[key] = found[key].replace(before, after)

    return change


def remove(title, board="sessions"):
    def change(boards):
        boards[board]["panels"].remove(panel(boards, title, board))

    return change


def spans_links(boards):
    return panel(boards, "Calls that failed, by their traces", "operations")["fieldConfig"]


MUTANTS = {
    "parses": [
        change_query("Transitions a second", ")", "", key="expr"),
        change_query("States of session $session", "&&", "&& &&", key="query"),
        lambda boards: target(boards, "Store").update(expr=""),
    ],
    "known_metrics": [
        change_query("Store", "holdfast_store_healthy", "holdfast_store_health"),
        change_query("Distribution of commits", "_seconds_bucket", "_bucket"),
        change_query("Store", "holdfast_store_healthy", "up"),
        lambda boards: target(boards, "Store").update(expr="1"),
    ],
    "shown_metrics": [
        remove("Threads", "operations"),
        remove("Sweeps", "operations"),
        remove("Bytes of a group"),
    ],
    "known_labels": [
        change_query("Turns committed", 'trigger="CommitTurn"', 'trigger="Commit"'),
        change_query("Turns committed", "trigger=", "cause="),
        change_query("Refused for a session's state", "FENCED", "FENCE"),
        change_query("Errors of the store", "call,reason", "call,why"),
        change_query("Errors of the store", "{{call}}", "{{method}}", key="legendFormat"),
        change_query("Take-overs", '"other"', '"another"', "operations"),
    ],
    "known_attributes": [
        change_query("States of session $session", "span.session.id", "span.session", key="query"),
        change_query(
            "States of session $session", "transition.to)", "transition.into)", key="query"
        ),
    ],
    "selection": [
        change_query("Store", 'namespace=~"$namespace",', ""),
        change_query("Store", '"$job"', '"holdfast"'),
        change_query("Store", '"$job"', '".*"'),
        lambda boards: variable(boards, "namespace").update(allValue=".+"),
        lambda boards: variable(boards, "job", "operations").pop("allValue"),
    ],
    "variables_defined": [
        change_query("Store", "$instance", "$server"),
        lambda boards: boards["sessions"]["templating"]["list"].remove(
            variable(boards, "session")
        ),
    ],
    "no_fallback": [
        lambda boards: target(boards, "Store").update(
            expr=target(boards, "Store")["expr"] + " or vector(0)"
        ),
        change_query("Store", "min(", "absent("),
    ],
    "panel_texts": [
        lambda boards: panel(boards, "Store").pop("description"),
        lambda boards: panel(boards, "Store").update(description="Health."),
        lambda boards: panel(boards, "Store").update(title="Turns committed"),
        lambda boards: panel(boards, "Store")["fieldConfig"]["defaults"].pop("unit"),
        lambda boards: panel(boards, "Store").update(targets=[]),
    ],
    "limits": [
        lambda boards: panel(boards, "Store")["fieldConfig"]["defaults"].pop("thresholds"),
        lambda boards: panel(boards, "Queue", "operations")["fieldConfig"]["defaults"].pop(
            "thresholds"
        ),
        lambda boards: panel(boards, "Turns committed").update(title="Commits"),
        remove("Take-overs", "operations"),
    ],
    "data_sources": [
        lambda boards: panel(boards, "Store")["datasource"].update(uid="prometheus"),
        lambda boards: panel(boards, "Store")["datasource"].update(uid="${traces}"),
        lambda boards: boards["sessions"]["annotations"]["list"][0]["datasource"].update(uid="x"),
        lambda boards: variable(boards, "job")["datasource"].update(uid="prometheus"),
    ],
    "identities": [
        lambda boards: boards["sessions"].update(uid="sessions"),
        lambda boards: panel(boards, "Store").update(id=2),
        lambda boards: boards.update(third=boards["sessions"]),
    ],
    "links": [
        lambda boards: boards["sessions"]["links"].clear(),
        lambda boards: boards["operations"]["links"][0].update(keepTime=False),
        lambda boards: spans_links(boards)["overrides"].clear(),
        lambda boards: variable(boards, "trace").update(name="traced"),
    ],
    "annotations": [
        lambda boards: boards["operations"]["annotations"]["list"].pop(),
        lambda boards: boards["sessions"]["annotations"]["list"][0].update(expr="1"),
    ],
}


def to_metrics(sources):
    return sources["tempo"]["jsonData"]["tracesToMetrics"]


def ask_metrics(query):
    return lambda sources: to_metrics(sources)["queries"][0].update(query=query)


def derive(**changes):
    return lambda sources: sources["loki"]["jsonData"]["derivedFields"][0].update(changes)


SOURCE_MUTANTS = {
    "source_queries": [
        ask_metrics("sum(rate(holdfast_rpc_handled_total{$$__tags}[5m])"),
        ask_metrics("sum(holdfast_rpc_handled_total{$__tags})"),
        ask_metrics("sum(up{$$__tags})"),
        ask_metrics("sum(holdfast_streams{$$__tags})"),
        lambda sources: to_metrics(sources)["tags"][0].update(key="rpc.call"),
        lambda sources: to_metrics(sources)["tags"][0].update(value="call"),
    ],
    "source_links": [
        lambda sources: to_metrics(sources).update(datasourceUid="mimir"),
        lambda sources: sources["tempo"]["jsonData"]["tracesToLogsV2"].update(query="{}"),
        derive(matcherRegex="trace_id"),
        derive(url="x"),
        derive(datasourceUid="x"),
    ],
}
