"""Upgrades of one release: to the values of each case, to what cannot be changed, and after a
change of a secret; and what helm says where a kind is missing."""
import os

import tools
from kubernetes import key_of
from programs import expect
from releases import RELEASE, STORES, Releases
from renderings import UNKNOWN

# Cases of another release, and of an object that the cluster does not know.
OTHERS = {"long-names", "cloudnativepg", "cloudnativepg-single"}
# Values that an upgrade cannot change, as docs/operations.md says.
FIXED = ["store.fs.size=20Gi", "store.fs.storageClass=fast", "store.fs.annotations.team=agents"]
REFUSED = "updates to statefulset spec for fields other than"
# What helm says of a kind that the cluster does not have, and the values that render it.
MISSING = {
    "ServiceMonitor": ["metrics.enabled=true", "metrics.serviceMonitor.enabled=true"],
    "PodMonitor": ["metrics.enabled=true", "metrics.podMonitor.enabled=true"],
    "PrometheusRule": ["metrics.enabled=true", "metrics.prometheusRule.enabled=true"],
    "GRPCRoute": [
        "grpcRoute.enabled=true",
        "grpcRoute.parentRefs[0].name=public",
        "networkPolicy.callers[0].podSelector.matchLabels.app=gateway",
    ],
}


def set_words(values):
    return [word for value in values for word in ("--set", value)]


def missing_kinds_are_said(cluster, found):
    """Without the definitions of a kind helm installs nothing, and says which kind is missing."""
    releases = Releases(cluster, found, "missing")
    shown = set()
    for major in tools.HELMS:
        for kind, values in MISSING.items():
            code, said = releases.helm(major, "install", RELEASE, tools.CHART, *set_words(values))
            for words in (f'no matches for kind "{kind}"', "ensure CRDs are installed first"):
                if code == 0 or words not in said:
                    yield f"helm {major} does not say '{words}': {said}"
            if releases.left() or releases.is_known():
                yield f"helm {major}: something was installed without {kind}: {releases.left()}"
            shown.add(f"helm {major}: {' '.join(said.split())}")
    print(f"report: without the definition of a kind: {sorted(shown)[0]}")


def store_of(case):
    return case.values()["store"]["kind"]


def fixed_by(case):
    """Whether the case changes what an upgrade cannot change."""
    kept = case.values()["store"]["fs"]
    default = tools.load(tools.read(os.path.join(tools.CHART, "values.yaml")))["store"]["fs"]
    names = ("size", "storageClass", "accessModes", "annotations", "existingClaim")
    return store_of(case) == "fs" and any(kept[name] != default[name] for name in names)


def every_case_is_an_upgrade(checker):
    """A release with the defaults becomes each case, one after the other, and what it has then is
    what was rendered. Cases that change a fixed field are refused, and the release goes on."""
    cases = [case for case in tools.cases() if case.name not in OTHERS]
    refused = 0
    for store, values in STORES.items():
        releases = Releases(checker.cluster, checker.found, f"upgrades-{store}")
        releases.install(4, tools.CHART, values)
        for case in cases:
            if store_of(case) != store:
                continue
            # No controller would run the job of a hook.
            words = [*releases.words_of_upgrade(case.files), "--no-hooks"]
            if fixed_by(case):
                refused += 1
                code, said = releases.helm(4, *words)
                if code == 0 or REFUSED not in said:
                    yield f"{case.name} is not refused: {said}"
                continue
            releases.must(4, *words)
            for problem in releases.problems(known(releases.manifest())):
                yield f"{case.name}: {problem}"
        releases.must(4, "uninstall", RELEASE)
    if not refused:
        yield "no case changes a fixed field"
    print(f"report: {len(cases) - refused} cases reached by an upgrade, {refused} refused")


def known(objects):
    return [made for made in objects if key_of(made)[0] not in UNKNOWN]


def fixed_fields_are_refused(cluster, found):
    """What an upgrade cannot change is refused by both majors; the release then goes on."""
    for major in tools.HELMS:
        releases = Releases(cluster, found, f"fixed-{major}")
        releases.install(major, tools.CHART, [])
        for value in FIXED:
            code, said = releases.helm(major, *releases.words_of_upgrade([]), "--set", value)
            if code == 0 or REFUSED not in said:
                yield f"helm {major}: {value} is not refused: {said}"
        releases.upgrade(major, [])
        for problem in releases.problems(releases.manifest()):
            yield f"helm {major}, after the refusals: {problem}"
        releases.must(major, "uninstall", RELEASE)
    print(f"report: {len(FIXED)} changes of a volume refused: {said.splitlines()[-1]}")


def names_make_another_store(cluster, found):
    """Another name over files is another set with another volume; the first claim stays."""
    for major in tools.HELMS:
        for value in ("nameOverride", "fullnameOverride"):
            releases = Releases(cluster, found, f"names-{major}-{value.lower()}")
            releases.install(major, tools.CHART, [])
            claim, before = releases.claim(), releases.manifest()
            releases.upgrade(major, [], "--set", f"{value}=other")
            for problem in releases.problems(releases.manifest()):
                yield f"helm {major}, {value}: {problem}"
            stayed = cluster.live(before, releases.namespace).keys()
            if ("StatefulSet.apps", set_of(before)) in stayed:
                yield f"helm {major}, {value}: the set keeps its name"
            if "deletionTimestamp" in releases.object("pvc", claim)["metadata"]:
                yield f"helm {major}, {value}: the claim {claim} goes"
            releases.must(major, "uninstall", RELEASE)
    print("report: a changed name over files makes another set; the first one's claim stays")


def set_of(objects):
    """The name of the StatefulSet among the objects."""
    (name,) = [made["metadata"]["name"] for made in objects if made["kind"] == "StatefulSet"]
    return name


def secrets_replace_pods(cluster, found):
    """An upgrade changes the pods' template if a secret has changed, and only then."""
    for major in tools.HELMS:
        releases = Releases(cluster, found, f"secrets-{major}")
        for name in ("holdfast-serving", "holdfast-owner", "database-ca"):
            releases.add_secret(name, "first")
        seen = []
        releases.install(major, tools.CHART, STORES["postgres"])
        for password in ("first", "second"):
            seen.append(generation(releases))
            releases.add_secret("holdfast-serving", password)
            releases.upgrade(major, STORES["postgres"])
        seen.append(generation(releases))
        if seen != [1, 1, 2]:
            yield f"helm {major}: the template had the generations {seen}, not [1, 1, 2]"
        releases.must(major, "uninstall", RELEASE)
    print("report: a changed secret brings new pods at an upgrade, an unchanged one does not")


def generation(releases):
    """How often the specification of the Deployment has changed."""
    (made,) = [made for made in releases.manifest() if made["kind"] == "Deployment"]
    kept = releases.object("deployment", made["metadata"]["name"])
    expect("generation" in kept["metadata"], f"no generation in {kept['metadata']}")
    return kept["metadata"]["generation"]
