"""What holds of the dashboards. A rule is a function of a Subject that yields what is wrong."""
import re

from boards import TARGET_LABELS, EVERYTHING, panels, queries_of
from metric_table import MetricTable, span_attributes
from source_rules import source_links, source_queries

UIDS = {"sessions": "holdfast-sessions", "operations": "holdfast-operations"}
# Metrics that no panel shows -> the reason.
UNSHOWN = {}
# Panels with one value that has no limit -> the reason.
UNLIMITED = {
    "Sessions in a turn": "how many are many depends on the agents",
    "Turns committed": "no number is too many",
    "Servers": "how many there should be is not known to Prometheus",
    "Shortest time since a start": "restarts are counted beside it",
    "Take-overs": "agents that take sessions over from each other are normal",
}
OF_GRAFANA = r"^__"


class Subject:
    """Dashboards, and the data sources and the table of metrics that they are checked against."""

    def __init__(self, boards, sources, parser):
        self.boards, self.sources, self.parser = boards, sources, parser
        self.table = MetricTable()

    def queries(self, *languages):
        return [query for query in queries_of(self.boards) if query.language in languages]

    def parsed(self, language):
        """(query, what its text names) for each query of the language."""
        queries = self.queries(language)
        filled = {query: query.filled(EVERYTHING) for query in queries}
        found = self.parser.parse(language, sorted(set(filled.values())))
        return [(query, found[filled[query]]) for query in queries]

    def each_panel(self):
        for name, board in self.boards.items():
            for panel in panels(board):
                yield f"{name}: {panel['title']}", panel


def parses(subject):
    """Every query is one of its language."""
    for language in ("promql", "traceql"):
        for query, parsed in subject.parsed(language):
            if parsed["errors"]:
                yield f"{query}: does not parse at {parsed['errors']}"
    for query in subject.queries("promql"):
        if not query.text:
            yield f"{query}: is empty"


def known_metrics(subject):
    """Every metric of a query is one of the server, and every query has one."""
    for query, parsed in subject.parsed("promql"):
        if not parsed["selectors"]:
            yield f"{query}: has no metric"
        for selector in parsed["selectors"]:
            if subject.table.base(selector["metric"]) is None:
                yield f"{query}: {selector['metric']} is no metric of tests/golden/metrics.golden"


def shown_metrics(subject):
    """Every metric of the server is in some panel, or has a reason why not."""
    shown = {
        subject.table.base(selector["metric"])
        for query, parsed in subject.parsed("promql")
        for selector in parsed["selectors"]
    }
    for metric in subject.table.metrics:
        if (metric in shown) == (metric in UNSHOWN):
            yield f"{metric}: is in no panel" if metric not in shown else f"{metric}: is shown"


def alternatives(matcher):
    return matcher["value"].split("|") if "~" in matcher["operator"] else [matcher["value"]]


def known_labels(subject):
    """Every label of a query is one of its metrics, with values that the label has."""
    for query, parsed in subject.parsed("promql"):
        named = set(TARGET_LABELS) | set(parsed["made"])
        for selector in parsed["selectors"]:
            metric = selector["metric"]
            if subject.table.base(metric) is None:
                continue
            labels = subject.table.labels(metric)
            named |= set(labels)
            for matcher in selector["matchers"]:
                label = matcher["label"]
                if label in TARGET_LABELS:
                    continue
                if label not in labels:
                    yield f"{query}: {metric} has no label {label}"
                    continue
                for value in alternatives(matcher):
                    if value not in subject.table.allowed(metric, label):
                        yield f"{query}: {label} of {metric} is never {value}"
        used = parsed["grouped"] + re.findall(r"\{\{(\w+)\}\}", query.legend)
        for label in sorted(set(used) - named):
            yield f"{query}: no metric of it has the label {label}"


def known_attributes(subject):
    """Every attribute of a query of traces is one that docs/operations.md names."""
    documented = {f"span.{name}" for name in span_attributes()}
    for query, parsed in subject.parsed("traceql"):
        for attribute in parsed["attributes"]:
            if attribute not in documented:
                yield f"{query}: {attribute} is not documented"


def selection(subject):
    """Every selector follows the variables, whose All matches a label that is absent."""
    wanted = {(label, "=~", EVERYTHING["$" + label]) for label in TARGET_LABELS}
    for query, parsed in subject.parsed("promql"):
        for selector in parsed["selectors"]:
            found = {
                (matcher["label"], matcher["operator"], matcher["value"])
                for matcher in selector["matchers"]
            }
            if not wanted <= found:
                yield f"{query}: {selector['metric']} does not follow every variable"
        if query.text.count("=~\"$") != 3 * len(parsed["selectors"]):
            yield f"{query}: a selector has a value instead of a variable"
    for name, board in subject.boards.items():
        variables = {found["name"]: found for found in board["templating"]["list"]}
        for label in TARGET_LABELS:
            found = variables.get(label, {})
            if found.get("allValue") != ".*" or not found.get("includeAll"):
                yield f"{name}: All of {label} does not match a label that is absent"


def variables_defined(subject):
    """Every variable of a query, a title or a link is there."""
    for name, board in subject.boards.items():
        defined = {found["name"] for found in board["templating"]["list"]}
        texts = [query.text for query in queries_of({name: board})]
        texts += [panel["title"] for panel in panels(board)]
        for text in texts:
            for used in re.findall(r"\$\{?(\w+)", text):
                if used not in defined and not re.match(OF_GRAFANA, used) and not used.isdigit():
                    yield f"{name}: ${used} is no variable: {text}"


def no_fallback(subject):
    """A query that finds nothing says so, and answers no constant."""
    for query, parsed in subject.parsed("promql"):
        if parsed["operators"] or set(parsed["functions"]) & {"vector", "absent", "scalar"}:
            yield f"{query}: has a fallback"


def panel_texts(subject):
    """Every panel has a title of its own, a description, a unit and queries."""
    seen = set()
    for place, panel in subject.each_panel():
        if place in seen or not panel["title"]:
            yield f"{place}: the title is no name of its own"
        seen.add(place)
        if len(panel.get("description", "")) < 20:
            yield f"{place}: has no description"
        if not panel["targets"]:
            yield f"{place}: has no query"
        unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
        if panel["datasource"]["type"] == "prometheus" and not unit:
            yield f"{place}: has no unit"


def limits(subject):
    """What has a limit shows it: a single value, and a part of a whole."""
    stats = set()
    for place, panel in subject.each_panel():
        defaults = panel.get("fieldConfig", {}).get("defaults", {})
        steps = defaults.get("thresholds", {}).get("steps", [])
        exempt = panel["type"] == "stat" and panel["title"] in UNLIMITED
        stats |= {panel["title"]} if exempt else set()
        if panel["type"] == "stat" or defaults.get("unit") == "percentunit":
            if len({step["value"] for step in steps}) < (0 if exempt else 2):
                yield f"{place}: has no thresholds"
        if exempt and steps:
            yield f"{place}: has thresholds, and a reason to have none"
    for title in sorted(set(UNLIMITED) - stats):
        yield f"{title}: is no panel, and has a reason to have no thresholds"


def data_sources(subject):
    """Data sources are variables, so that a dashboard fits every Grafana."""
    for name, board in subject.boards.items():
        kinds = {
            "${" + found["name"] + "}": found["query"]
            for found in board["templating"]["list"]
            if found["type"] == "datasource"
        }
        places = [(panel["title"], panel["datasource"]) for panel in panels(board)]
        places += [(note["name"], note["datasource"]) for note in board["annotations"]["list"]]
        places += [
            (found["name"], found["datasource"])
            for found in board["templating"]["list"]
            if found["type"] == "query"
        ]
        for place, source in places:
            if kinds.get(source["uid"]) != source["type"]:
                yield f"{name}: {place}: {source} is no variable"


def identities(subject):
    """A dashboard keeps its address, and a panel its number."""
    if set(subject.boards) != set(UIDS):
        yield f"dashboards: {sorted(subject.boards)}"
    for name, board in subject.boards.items():
        if board.get("uid") != UIDS.get(name):
            yield f"{name}: its uid is {board.get('uid')}"
        numbers = [panel["id"] for panel in board["panels"]]
        if len(set(numbers)) != len(numbers) or not all(numbers):
            yield f"{name}: two panels have one id"


def links(subject):
    """The dashboards lead to each other, a span to its session and its trace."""
    addresses = {f"/d/{uid}" for uid in UIDS.values()}
    variables = {found["name"] for found in subject.boards["sessions"]["templating"]["list"]}
    for name, board in subject.boards.items():
        others = addresses - {f"/d/{UIDS[name]}"}
        found = {link["url"] for link in board["links"] if link["keepTime"] and link["includeVars"]}
        if found != others:
            yield f"{name}: leads to {sorted(found)}"
        spans = [panel for panel in panels(board) if is_spans(panel)]
        if not spans:
            yield f"{name}: shows no spans"
        for panel in spans:
            urls = [link["url"] for link in data_links(panel)]
            for wanted in ("var-session", "var-trace"):
                if not any(wanted in url for url in urls):
                    yield f"{name}: {panel['title']}: no link sets {wanted}"
            for url in urls:
                if url.split("?")[0] != f"/d/{UIDS['sessions']}":
                    yield f"{name}: {panel['title']}: {url} leads elsewhere"
                for variable in re.findall(r"\bvar-(\w+)", url):
                    if variable not in variables:
                        yield f"{name}: {panel['title']}: there is no variable {variable}"


def is_spans(panel):
    return panel["type"] == "table" and panel["datasource"]["type"] == "tempo"


def data_links(panel):
    return [
        link
        for override in panel["fieldConfig"]["overrides"]
        for changed in override["properties"]
        if changed["id"] == "links"
        for link in changed["value"]
    ]


def annotations(subject):
    """Starts and failovers are marked on every dashboard."""
    wanted = {"Starts": "process_start_time_seconds", "Failovers": "holdfast_postgres_timeline"}
    for name, board in subject.boards.items():
        found = {note["name"]: note["expr"] for note in board["annotations"]["list"]}
        for title, metric in wanted.items():
            if metric not in found.get(title, ""):
                yield f"{name}: {title} are not marked"


RULES = (
    parses,
    known_metrics,
    shown_metrics,
    known_labels,
    known_attributes,
    selection,
    variables_defined,
    no_fallback,
    panel_texts,
    limits,
    data_sources,
    identities,
    links,
    annotations,
    source_queries,
    source_links,
)
