"""What holds of the data sources that Grafana is given. A rule is a function of a Subject that
yields what is wrong."""
import yaml
from inventory import Printed
from metric_table import span_attributes

OPERATIONS = "docs/operations.md"


def source_queries(subject):
    """From a span to metrics: the queries of the data source parse, and name what is there."""
    settings = subject.sources["tempo"]["jsonData"]["tracesToMetrics"]
    labels = [tag["value"] for tag in settings["tags"]]
    for tag in settings["tags"]:
        if tag["key"] not in span_attributes():
            yield f"tracesToMetrics: {tag['key']} is no attribute"
    tags = ",".join(f'{label}="CommitTurn"' for label in labels)
    for query in settings["queries"]:
        # Provisioning makes one $ of two.
        text = query["query"].replace("$$__tags", tags)
        parsed = subject.parser.parse("promql", [text])[text]
        if parsed["errors"] or not parsed["selectors"] or "$" in text:
            yield f"tracesToMetrics: {text}: does not parse"
        for selector in parsed["selectors"]:
            if subject.table.base(selector["metric"]) is None:
                yield f"tracesToMetrics: {selector['metric']} is no metric"
            elif not set(labels) <= set(subject.table.labels(selector["metric"])):
                yield f"tracesToMetrics: {selector['metric']} has not the labels {labels}"


def source_links(subject):
    """Traces, metrics and logs lead to each other, as docs/operations.md says."""
    tempo = subject.sources["tempo"]["jsonData"]
    (field,) = subject.sources["loki"]["jsonData"]["derivedFields"]
    for place, uid in (
        ("tracesToMetrics", tempo["tracesToMetrics"]["datasourceUid"]),
        ("tracesToLogsV2", tempo["tracesToLogsV2"]["datasourceUid"]),
        ("derivedFields", field["datasourceUid"]),
    ):
        if uid not in subject.sources:
            yield f"{place}: there is no data source {uid}"
    if "$${__trace.traceId}" not in tempo["tracesToLogsV2"]["query"]:
        yield "tracesToLogsV2: the query does not name the trace"
    (block,) = Printed("grafana.Dashboards.KeepTheRules").take(OPERATIONS, "The log", "yaml")
    if yaml.safe_load(block)["jsonData"]["derivedFields"] != [field]:
        yield f"derivedFields: is not what {OPERATIONS} says"
