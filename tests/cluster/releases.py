"""Releases of the chart in a cluster: what helm installs, upgrades, rolls back and removes is what
the API server then keeps. There are no controllers, so nothing is waited for and no hook runs."""
import os
import re
import tarfile
import tempfile

import tools
from kubernetes import key_of
from programs import ROOT, done, expect

RELEASE = "demo"
STORES = {"fs": [], "postgres": [os.path.join(tools.HERE, "base", "postgres.yaml")]}
KINDS = "deployments,statefulsets,services,configmaps,serviceaccounts,networkpolicies,jobs,pods"
KINDS += ",poddisruptionbudgets,horizontalpodautoscalers,ingresses"
CHART_FILE = "helm/holdfast/Chart.yaml"


def first_chart(folder):
    """The chart as it was added, out of the repository's history: the one before all others. Its
    releases are the oldest that an upgrade can meet."""
    git = ["git", "-C", ROOT]
    shallow = done([*git, "rev-parse", "--is-shallow-repository"]).strip()
    expect(shallow == "false", "the history is not whole: fetch the first version of the chart")
    added = done([*git, "log", "--diff-filter=A", "--format=%H", "--", CHART_FILE]).split()
    expect(added, f"{CHART_FILE} is not in the history")
    archive = os.path.join(folder, "chart.tar")
    done([*git, "archive", "--output", archive, added[-1], "helm/holdfast"])
    with tarfile.open(archive) as file:
        file.extractall(folder)
    return os.path.join(folder, "helm", "holdfast"), added[-1][:12]


def amount(text):
    """A quantity as a number: the API server writes 3072Mi as 3Gi. What is none stays as it is."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)(m|[KMGT]i|[kMGT])?", str(text))
    if parts is None:
        return text
    unit = parts[2] or ""
    powers = {"m": 0.001, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    powers |= {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    return float(parts[1]) * powers[unit]


def differences(wanted, found, path=""):
    """Where `found` lacks something of `wanted`. The API server adds fields, and no elements."""
    if ".resources." in path and not isinstance(wanted, dict):
        wanted, found = amount(wanted), amount(found)
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            yield from differences(value, found.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for number, (one, other) in enumerate(zip(wanted, found)):
            yield from differences(one, other, f"{path}[{number}]")
    elif wanted != found and not (wanted in ({}, [], "", None) and found is None):
        yield f"{path.lstrip('.')} is {found!r}, not {wanted!r}"


class Releases:
    """The releases of one namespace, by one major of helm or several."""

    def __init__(self, cluster, found, namespace):
        self.cluster, self.found, self.namespace = cluster, found, namespace
        cluster.add_namespace(namespace)

    def helm(self, major, *words):
        """The exit code of helm and all that it said."""
        words = [*words, "--namespace", self.namespace]
        ended = self.found.run(major, *words, kubeconfig=self.cluster.kubeconfig)
        return ended.returncode, ended.stdout + ended.stderr

    def must(self, major, *words):
        """What helm says, which must succeed and warn of nothing."""
        code, said = self.helm(major, *words)
        expect(code == 0, f"helm {major} {' '.join(words)}: {said}")
        warnings = [line for line in said.splitlines() if "warning" in line.lower()]
        expect(not warnings, f"helm {major} {' '.join(words)}: {warnings}")
        return said

    def install(self, major, chart, values, *more):
        files = [word for file in values for word in ("--values", file)]
        return self.must(major, "install", RELEASE, chart, *files, *more)

    def upgrade(self, major, values, *more):
        """To the chart of this checkout."""
        return self.must(major, *self.words_of_upgrade(values), *more)

    def words_of_upgrade(self, values):
        files = [word for file in values for word in ("--values", file)]
        return ["upgrade", RELEASE, tools.CHART, *files]

    def manifest(self, revision=None):
        """The objects of the release as helm has rendered them."""
        words = ["get", "manifest", RELEASE]
        if revision:
            words += ["--revision", str(revision)]
        code, said = self.helm(4, *words)
        expect(code == 0, said)
        return [made for made in tools.load_all(said) if made]

    def problems(self, objects):
        """Where the objects that the cluster keeps differ from these, and which are too many."""
        live = self.cluster.live(objects, self.namespace)
        for made in objects:
            kind, name = key = key_of(made)
            if key not in live:
                yield f"{kind} {name} is not there"
                continue
            for difference in differences(made, live[key]):
                yield f"{kind} {name}: {difference}"
        wanted = {f"{kind.lower()}/{name}" for kind, name in map(key_of, objects)}
        for name in sorted(self.left() - wanted):
            yield f"{name} is too many"

    def left(self):
        """The names of all that is labelled with the release."""
        label = f"app.kubernetes.io/instance={RELEASE}"
        words = ["get", KINDS, "--namespace", self.namespace, "--selector", label]
        out = self.cluster.must(*words, "--output", "name", "--ignore-not-found")
        return set(out.split())

    def object(self, kind, name):
        words = ["get", kind, name, "--namespace", self.namespace, "--output", "json"]
        return tools.load(self.cluster.must(*words))

    def is_known(self):
        code, said = self.helm(4, "status", RELEASE)
        expect(code == 0 or "release: not found" in said, said)
        return code == 0

    def add_secret(self, name, password):
        data = {"password": password}
        metadata = {"name": name, "namespace": self.namespace}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        self.cluster.must("apply", "--filename", "-", objects=[made])

    def claim(self):
        """Makes the volume claim of the StatefulSet as its controller does for its first pod, and
        returns its name. The set owns it only if the volume goes with it."""
        (made,) = [made for made in self.manifest() if made["kind"] == "StatefulSet"]
        kept = self.object("statefulset", made["metadata"]["name"])["spec"]
        expect(
            kept["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Retain",
            f"the volume goes with its set: {kept['persistentVolumeClaimRetentionPolicy']}",
        )
        (template,) = kept["volumeClaimTemplates"]
        name = f"{template['metadata']['name']}-{made['metadata']['name']}-0"
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"]}
        claim["metadata"] = template["metadata"] | {"name": name, "namespace": self.namespace}
        claim["metadata"]["labels"] |= {"app.kubernetes.io/instance": RELEASE}
        self.cluster.must("create", "--filename", "-", objects=[claim])
        return name


def life_of_a_release(releases, store, majors, chart, problem_of):
    """One release from the chart before to its end, each step by a major of `majors`."""
    first, second = majors
    values = STORES[store]
    releases.install(first, chart, values)
    yield from problem_of("install", releases.manifest())
    claim = releases.claim() if store == "fs" else None
    releases.upgrade(second, values)
    yield from problem_of("upgrade", releases.manifest())
    releases.must(second, "rollback", RELEASE, "1")
    if releases.manifest() != releases.manifest(1):
        yield "rollback: the manifest is not the first one"
    yield from problem_of("rollback", releases.manifest())
    releases.upgrade(second, values)
    yield from problem_of("second upgrade", releases.manifest())
    releases.must(second, "uninstall", RELEASE)
    yield from problem_of("uninstall", [])
    if releases.is_known():
        yield "uninstall: the release is still known"
    if claim:
        kept = releases.object("persistentvolumeclaim", claim)["metadata"]
        if "deletionTimestamp" in kept:
            yield f"uninstall: the claim {claim} goes too"


def releases_live(cluster, found):
    """Both majors, and 4 on what 3 has installed: each step leaves what helm has rendered."""
    with tempfile.TemporaryDirectory(prefix="holdfast chart ") as folder:
        chart, commit = first_chart(folder)
        for majors in ((3, 3), (4, 4), (3, 4)):
            for store in STORES:
                by = "-".join(str(major) for major in majors)
                releases = Releases(cluster, found, f"release-{by}-{store}")

                def problem_of(step, objects, releases=releases, by=by, store=store):
                    for problem in releases.problems(objects):
                        yield f"helm {by}, {store}, {step}: {problem}"

                yield from life_of_a_release(releases, store, majors, chart, problem_of)
    print(
        f"report: the chart of {commit} installed, upgraded, rolled back, upgraded and uninstalled "
        "by helm 3, helm 4, and 4 after 3, over files and PostgreSQL; the volume's claim stays"
    )
