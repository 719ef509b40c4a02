"""What the API server says to the rendering of each case of tests/chart, applied both ways, and to
mutants of renderings. A check is a function from Checker to what is wrong."""
import collections
import copy
import re

import tools
from kubernetes import key_of

NAMESPACE = "agents"  # that of the renderings
# Whose definition no registry has; tests/chart compares its fields with types.
UNKNOWN = {"Cluster.postgresql.cnpg.io"}
# What a rendering names and expects to be there.
PRIORITY = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "important"},
    "value": 1000,
}
DRY_RUN = ["apply", "--dry-run=server", "--validate=strict", "--filename", "-"]
SERVER_SIDE = ["apply", "--server-side", "--validate=strict", "--filename", "-"]

# A field of each kind, as CASE, KIND, the path to it; spelt wrongly it must be refused by name.
MISSPELT = [
    ("postgres", "Deployment.apps", "spec template spec terminationGracePeriodSeconds"),
    ("defaults", "StatefulSet.apps", "spec volumeClaimTemplates 0 spec accessModes"),
    ("defaults", "Service", "spec ports 0 appProtocol"),
    ("defaults", "ConfigMap", "data"),
    ("defaults", "ServiceAccount", "automountServiceAccountToken"),
    ("defaults", "Pod", "spec enableServiceLinks"),
    ("defaults", "NetworkPolicy.networking.k8s.io", "spec ingress 0 from"),
    ("postgres", "PodDisruptionBudget.policy", "spec maxUnavailable"),
    ("autoscaling", "HorizontalPodAutoscaler.autoscaling", "spec behavior scaleUp policies"),
    ("migration-hook", "Job.batch", "spec backoffLimit"),
    ("ingress", "Ingress.networking.k8s.io", "spec ingressClassName"),
    ("grpc-route", "GRPCRoute.gateway.networking.k8s.io", "spec hostnames"),
    (
        "metrics-service-monitor",
        "ServiceMonitor.monitoring.coreos.com",
        "spec endpoints 0 scrapeTimeout",
    ),
    (
        "metrics-pod-monitor",
        "PodMonitor.monitoring.coreos.com",
        "spec podMetricsEndpoints 0 scrapeTimeout",
    ),
    ("metrics-prometheus-rule", "PrometheusRule.monitoring.coreos.com", "spec groups"),
]
# Changes of a value, as CASE, KIND, the path to it, the value, and what the refusal or the warning
# must say; ` | ` separates what one or the other way of applying it says.
WRONG = [
    (
        "postgres",
        "Deployment.apps",
        "spec template spec containers 0 ports 0 containerPort",
        "grpc",
        "containerPort",
    ),
    (
        "postgres",
        "Deployment.apps",
        "spec template metadata labels",
        {},
        "`selector` does not match template `labels`",
    ),
    (
        "postgres",
        "Deployment.apps",
        "spec template spec volumes",
        [],
        'volumeMounts[0].name: Not found: "config"',
    ),
    ("defaults", "Service", "metadata name", "n" * 64, "must be no more than 63 characters"),
    ("defaults", "Service", "spec clusterIP", "None, too", "clusterIP"),
    (
        "metrics-service-monitor",
        "ServiceMonitor.monitoring.coreos.com",
        "spec endpoints 0 interval",
        "soon",
        "spec.endpoints[0].interval",
    ),
    (
        "grpc-route",
        "GRPCRoute.gateway.networking.k8s.io",
        "spec rules 0 backendRefs 0 port",
        70000,
        "spec.rules[0].backendRefs[0].port",
    ),
    (  # one way takes it with a warning
        "extras",
        "Deployment.apps",
        "spec template spec containers 0 env",
        [{"name": "TZ", "value": "UTC"}, {"name": "TZ", "value": "CET"}],
        "hides previous definition | duplicate entries for key",
    ),
    (
        "postgres",
        "Deployment.apps",
        "spec template spec containers 0 securityContext allowPrivilegeEscalation",
        True,
        'would violate PodSecurity "restricted:latest"',
    ),
]


class Checker:
    """Asks `cluster` about the renderings of `found`, the tools of tests/chart."""

    def __init__(self, cluster, found):
        self.cluster, self.found = cluster, found
        cluster.add_namespace(NAMESPACE)
        cluster.must("create", "--filename", "-", objects=[PRIORITY])
        cases = tools.cases()
        self.renderings = {
            case.name: objects for case, objects in zip(cases, tools.for_each(found.objects, cases))
        }

    def known(self, case):
        """The objects of a case whose kinds the cluster has."""
        return [made for made in self.renderings[case] if key_of(made)[0] not in UNKNOWN]

    def apply(self, objects, words):
        """What is said against the objects: warnings and errors. Empty if nothing is."""
        code, _, said = self.cluster.kubectl(*words, objects=objects)
        if code != 0 and not said:
            return f"kubectl ended with {code}"
        return said.strip()

    def delete(self, objects):
        self.cluster.must("delete", "--ignore-not-found", "--filename", "-", objects=objects)


def accounts(objects):
    """The service accounts of pods, which must be there before a pod is: those that are rendered,
    and those that a rendering expects."""
    named = {
        made["spec"].get("serviceAccountName", "default")
        for made in objects
        if made["kind"] == "Pod"
    }
    rendered = [
        made
        for made in objects
        if made["kind"] == "ServiceAccount" and made["metadata"]["name"] in named
    ]
    for name in sorted(named - {made["metadata"]["name"] for made in rendered}):
        metadata = {"name": name, "namespace": NAMESPACE}
        rendered.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    return rendered


def problems(checker, objects):
    """What is said to the objects, by each way of applying them; they are gone afterwards."""
    before = accounts(objects)
    if before:
        checker.cluster.must("apply", "--filename", "-", objects=before)
    try:
        for words in (DRY_RUN, SERVER_SIDE):
            said = checker.apply(objects, words)
            if said:
                yield f"kubectl {' '.join(words[:2])}: {said}"
    finally:
        checker.delete(before + objects)


def every_case_is_taken(checker):
    """Each rendering is taken by both ways of applying it, without an error or a warning."""
    kinds = collections.Counter()
    for case in checker.renderings:
        objects = checker.known(case)
        kinds.update(key_of(made)[0] for made in objects)
        for problem in problems(checker, objects):
            yield f"{case}: {problem}"
    left_out = sum(map(len, checker.renderings.values())) - sum(kinds.values())
    print(
        f"report: {len(checker.renderings)} cases, {sum(kinds.values())} objects of {len(kinds)} "
        f"kinds applied twice; {left_out} of {', '.join(sorted(UNKNOWN))} have no definition here"
    )


def at(made, path):
    """What holds the last part of the path, and that part."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split()]
    for part in parents:
        made = made[part]
    return made, last


def one_of(checker, case, kind):
    """A copy of the first object of a kind in a case."""
    return copy.deepcopy(next(made for made in checker.known(case) if key_of(made)[0] == kind))


def is_unknown(field, said):
    """Whether the field is refused because its kind has none of this name."""
    name = rf"[\w.\[\]]*\b{field}\b"
    return re.search(rf'unknown field "{name}"|{name}: field not declared in schema', said)


def misspelt_fields_are_refused(checker):
    """Of each kind that is rendered one field with another name is refused, with that name."""
    rendered = {key_of(made)[0] for case in checker.renderings for made in checker.known(case)}
    for kind in sorted(rendered - {kind for _, kind, _ in MISSPELT}):
        yield f"no field of {kind} is misspelt"
    for case, kind, path in MISSPELT:
        made = one_of(checker, case, kind)
        holder, field = at(made, path)
        wrong = field[:-1]
        holder[wrong] = holder.pop(field)
        said = list(problems(checker, [made]))
        if len(said) != 2 or not all(is_unknown(wrong, words) for words in said):
            yield f"{kind}: the field {wrong} is not refused: {said}"
    print(f"report: {len(MISSPELT)} misspelt fields, each refused by both ways")


def says(words, problem):
    return any(each in problem for each in words.split(" | "))


def wrong_values_are_seen(checker):
    """What is wrong with a value is said, and a warning counts."""
    for case, kind, path, value, words in WRONG:
        made = one_of(checker, case, kind)
        holder, field = at(made, path)
        holder[field] = value
        said = list(problems(checker, [made]))
        if len(said) != 2 or not all(says(words, problem) for problem in said):
            yield f"{kind}: {path} = {value}: '{words}' is not said: {said}"
    print(f"report: {len(WRONG)} wrong values, each reported by both ways")
