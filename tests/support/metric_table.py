"""What the documents say that the server has: metrics, their labels and values, attributes of
spans."""
import os
import re

from programs import ROOT

GOLDEN = os.path.join(ROOT, "tests", "golden", "metrics.golden")
METRICS_PAGE = os.path.join(ROOT, "docs", "metrics.md")
OPERATIONS = os.path.join(ROOT, "docs", "operations.md")
HISTOGRAM_ENDS = ("_bucket", "_sum", "_count")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def listed():
    """metric -> (type, labels, bounds of the buckets), by the golden list."""
    rows = [line.split("\t") for line in read(GOLDEN).splitlines()]
    return {
        row[0]: (row[1], [] if row[3] == "–" else row[3].split(","), row[4].split(", "))
        for row in rows
        if len(row) == 6
    }


def label_values():
    """(label, metric) -> values, by the table of docs/metrics.md."""
    section = read(METRICS_PAGE).split("\n## Labels\n")[1]
    found = {}
    for line in section.splitlines():
        row = re.match(r"\| `(\w+)` \| (.*) \| (.*) \|$", line)
        for metric in re.findall(r"`(\w+)`", row[2]) if row else ():
            found[row[1], metric] = re.findall(r"`(\w+)`", row[3])
    return found


class MetricTable:
    def __init__(self):
        self.metrics, self.values = listed(), label_values()
        if not self.metrics or not self.values:
            raise SystemExit("no metric or no label is documented")

    def base(self, name):
        """The metric that a series named so belongs to, or None."""
        if name in self.metrics:
            return name
        for end in HISTOGRAM_ENDS:
            stem = name.removesuffix(end)
            if stem != name and self.metrics.get(stem, ("",))[0] == "histogram":
                return stem
        return None

    def labels(self, name):
        """Labels of the series named so, beside those of the target."""
        metric = self.base(name)
        buckets = ["le"] if name.endswith("_bucket") and name != metric else []
        return list(self.metrics[metric][1]) + buckets

    def allowed(self, name, label):
        """The values that the label has on the series named so."""
        metric = self.base(name)
        if label == "le":
            return self.metrics[metric][2]
        return self.values.get((label, metric), [])


def span_attributes():
    """The attributes of spans that docs/operations.md names."""
    section = read(OPERATIONS).split("\n## Traces\n")[1].split("\n## ")[0]
    return set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", section))
