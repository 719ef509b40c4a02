"""What the checks of releases must see: charts that a release cannot be upgraded to, and a cluster
that keeps something else than what was rendered."""
import copy
import os
import shutil
import tempfile

import tools
from releases import RELEASE, STORES, Releases

# A store, a template of the chart, a change of it, and what the upgrade must be refused with.
CHARTS = [
    ("fs", "workload.yaml", ("}}-headless\n", "}}-other\n"), "updates to statefulset spec"),
    ("fs", "workload.yaml", ("name: data\n", "name: store\n"), "updates to statefulset spec"),
    (
        "postgres",
        "_names.tpl",
        ("app.kubernetes.io/component: server", "app.kubernetes.io/component: holdfastd"),
        "field is immutable",
    ),
    ("postgres", "service.yaml", ("clusterIP: None", "clusterIP: 10.96.0.77"), "may not change"),
    ("postgres", "configmap.yaml", ("kind: ConfigMap", "kind: ConfigMop"), "no matches for kind"),
]


def mutant_of_the_chart(folder, template, change):
    """A copy of the chart with another template, or None if the template has nothing to change."""
    chart = os.path.join(folder, "holdfast")
    shutil.copytree(tools.CHART, chart)
    file = os.path.join(chart, "templates", template)
    text = tools.read(file)
    if change[0] not in text:
        return None
    with open(file, "w", encoding="utf-8") as out:
        out.write(text.replace(*change))
    return chart


def refused_charts(releases, number, store, mutant):
    """What is wrong with the answer to an upgrade to a mutant of the chart."""
    template, change, words = mutant
    with tempfile.TemporaryDirectory(prefix="holdfast chart ") as folder:
        chart = mutant_of_the_chart(folder, template, change)
        if chart is None:
            yield f"chart {number}: {template} has no '{change[0].strip()}' to change"
            return
        files = [word for file in STORES[store] for word in ("--values", file)]
        code, said = releases.helm(4, "upgrade", RELEASE, chart, *files)
        if code == 0 or words not in said:
            yield f"chart {number}: the upgrade is not refused with '{words}': {said}"


def without_an_object(objects):
    objects.pop()


def with_another_object(objects):
    objects.append(copy.deepcopy(objects[0]))
    objects[-1]["metadata"]["name"] = "another"


def with_another_value(objects):
    workload = next(made for made in objects if made["kind"] == "StatefulSet")
    workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] += 1


def with_one_more_element(objects):
    service = next(made for made in objects if made["kind"] == "Service")
    service["spec"]["ports"].append({"name": "more", "port": 1})


def with_less_memory(objects):
    workload = next(made for made in objects if made["kind"] == "StatefulSet")
    limits = workload["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    limits["memory"] = "3071Mi"


MANIFESTS = [
    without_an_object,
    with_another_object,
    with_another_value,
    with_one_more_element,
    with_less_memory,
]


def releases_are_compared(cluster, found):
    """Each mutant is seen: of the chart by the API server, of a manifest by the comparison."""
    caught = 0
    for store in STORES:
        releases = Releases(cluster, found, f"mutants-{store}")
        releases.install(4, tools.CHART, STORES[store])
        for number, (of, *mutant) in enumerate(CHARTS):
            if of == store:
                wrong = list(refused_charts(releases, number, store, mutant))
                yield from wrong
                caught += not wrong
        releases.upgrade(4, STORES[store])
        manifest = releases.manifest()
        yield from releases.problems(manifest)
        for mutate in MANIFESTS if store == "fs" else []:
            wrong = copy.deepcopy(manifest)
            mutate(wrong)
            if list(releases.problems(wrong)):
                caught += 1
            else:
                yield f"a manifest {mutate.__name__} is not seen"
        releases.must(4, "uninstall", RELEASE)
    print(f"figure: {caught} mutants caught")
    print(
        f"report: {len(CHARTS)} mutants of the chart refused at an upgrade, {len(MANIFESTS)} of a "
        "manifest seen"
    )
