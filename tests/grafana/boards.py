"""The committed dashboards: their panels, queries and variables, and the parser of queries."""
import dataclasses
import json
import os
import shutil
import subprocess

import yaml

from programs import ROOT

SOURCES = os.path.join(ROOT, "deploy", "grafana", "provisioning", "datasources")
FOLDER = os.path.join(ROOT, "deploy", "grafana", "dashboards")
HERE = os.path.dirname(os.path.abspath(__file__))
TARGET_LABELS = ("namespace", "job", "instance")
# What Grafana puts into a query before it is sent; tests of real servers replace the values.
EVERYTHING = {
    "$__rate_interval": "1m",
    "$__range": "1h",
    "$namespace": ".*",
    "$job": ".*",
    "$instance": ".*",
    "$session": "some-session",
}


@dataclasses.dataclass(frozen=True)
class Query:
    board: str
    panel: str  # its title, or the name of the annotation
    language: str  # promql, traceql, or trace: the id of one
    text: str
    legend: str = ""
    instant: bool = False

    def __str__(self):
        return f"{self.board}: {self.panel}: {self.text}"

    def filled(self, values):
        """The text that Grafana would send."""
        text = self.text
        for name in sorted(values, key=len, reverse=True):
            text = text.replace(name, values[name])
        return text


def read_boards(folder=FOLDER):
    """Name of the file without its end -> the dashboard."""
    boards = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            boards[name.removesuffix(".json")] = json.load(file)
    return boards


def read_sources():
    """uid -> the data source, of all files that Grafana is given or may be given."""
    found = {}
    for name in sorted(os.listdir(SOURCES)):
        with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
            for source in yaml.safe_load(file)["datasources"]:
                found[source["uid"]] = source
    return found


def panels(board):
    """The panels that show something; rows do not."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def language_of(panel, target):
    if panel["datasource"]["type"] == "prometheus":
        return "promql"
    return "trace" if target["query"] == "${trace}" else "traceql"


def queries_of(boards):
    found = []
    for name, board in boards.items():
        for panel in panels(board):
            for target in panel["targets"]:
                language = language_of(panel, target)
                text = target.get("expr", target.get("query", ""))
                legend = target.get("legendFormat", "")
                instant = bool(target.get("instant"))
                found.append(Query(name, panel["title"], language, text, legend, instant))
        for note in board["annotations"]["list"]:
            found.append(Query(name, note["name"], "promql", note["expr"], note["textFormat"]))
    return found


class Parser:
    """What the grammars say of queries; each text is parsed once."""

    def __init__(self, build):
        self.folder = os.path.join(build, "dashboards")
        self.known = {"promql": {}, "traceql": {}}
        shutil.copy(os.path.join(HERE, "parse.mjs"), self.folder)

    def parse(self, language, texts):
        """text -> what it names, for each of the texts."""
        known = self.known[language]
        unknown = [text for text in texts if text not in known]
        if unknown:
            ended = subprocess.run(
                ["node", "parse.mjs"],
                cwd=self.folder,
                input=json.dumps({"promql": [], "traceql": [], language: unknown}),
                capture_output=True,
                text=True,
                check=False,
            )
            if ended.returncode != 0:
                raise SystemExit(f"grafana: the parser ended: {ended.stderr}")
            known.update(json.loads(ended.stdout)[language])
        return {text: known[text] for text in texts}
