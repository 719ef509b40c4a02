"""What holds of every object that the chart renders. A policy is a function from a rendering to
what violates it."""
import math
import os
import re

import tools

SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
MEBIBYTES = {"B": 1 / 1048576, "KiB": 1 / 1024, "MiB": 1, "GiB": 1024}
QUANTITIES = {"Ki": 1 / 1024, "Mi": 1, "Gi": 1024}
NAME_MOST = 63
STATEFUL_NAME_MOST = 52  # a label has this name and a digest
STOP_SECONDS = 10  # beyond the drain
HELD_MEBIBYTES = 512  # beyond memory_budget (ADR 35)
SLEEP_SINCE = (1, 30)


def measure(text, units):
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", text).groups()
    return float(number) * units[unit]


class Rendering:
    """The objects of a case, beside the values that they are made of."""

    def __init__(self, case, objects):
        self.case, self.objects = case, objects
        self.values = case.values()

    def kind(self, *kinds):
        return [found for found in self.objects if found["kind"] in kinds]

    def workload(self):
        (only,) = self.kind("Deployment", "StatefulSet")
        return only

    def server(self):
        return self.workload()["spec"]["template"]

    def pods(self):
        """(place, pod template) of everything that runs."""
        for found in self.kind("Deployment", "StatefulSet", "Job"):
            yield found["kind"], found["spec"]["template"]
        for found in self.kind("Pod"):
            yield "Pod", found

    def containers(self):
        for place, pod in self.pods():
            for group in ("initContainers", "containers"):
                for container in pod["spec"].get(group, []):
                    yield f"{place}/{container['name']}", container

    def holdfastd(self):
        (only,) = [
            found for found in self.server()["spec"]["containers"] if found["name"] == "holdfastd"
        ]
        return only

    def config(self):
        maps = self.kind("ConfigMap")
        (only,) = [found for found in maps if found["metadata"]["name"].endswith("-config")]
        return only

    def over_database(self):
        return self.values["store"]["kind"] == "postgres"


def restricted(rendering):
    """Pods are what the profile `restricted` of Kubernetes asks for; their root is read-only."""
    for place, pod in rendering.pods():
        context = pod["spec"]["securityContext"]
        if context.get("runAsNonRoot") is not True or not context.get("runAsUser", 0) > 0:
            yield f"{place}: may run as root"
        if context.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{place}: has no seccomp profile"
        if context.get("fsGroupChangePolicy") != "OnRootMismatch":
            yield f"{place}: modes below the store's root would be changed"
        for flag in ("hostNetwork", "hostPID", "hostIPC"):
            if pod["spec"].get(flag):
                yield f"{place}: {flag}"
        for volume in pod["spec"].get("volumes", []):
            if "hostPath" in volume:
                yield f"{place}: a volume of the host"
    for place, container in rendering.containers():
        context = container["securityContext"]
        wanted = {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        for key, value in wanted.items():
            if context.get(key) != value:
                yield f"{place}: {key} is {context.get(key)}, not {value}"


def no_token(rendering):
    """No pod has a token of the cluster, nor the addresses of other services in its environment."""
    for place, pod in rendering.pods():
        if pod["spec"].get("automountServiceAccountToken") is not False:
            yield f"{place}: mounts a token"
        if pod["spec"].get("enableServiceLinks") is not False:
            yield f"{place}: has the variables of services"
    for account in rendering.kind("ServiceAccount"):
        if account.get("automountServiceAccountToken") is not False:
            yield "ServiceAccount: mounts a token"


def resources(rendering):
    """Memory is limited and fits the budget; CPU is requested and not limited."""
    named = rendering.values["resources"]
    for place, container in rendering.containers():
        if container["name"] not in ("holdfastd", "migrate", "healthcheck"):
            continue
        limits = container["resources"]["limits"]
        if "memory" not in limits or "cpu" not in container["resources"]["requests"]:
            yield f"{place}: {container['resources']}"
            return
        if "cpu" in limits and "cpu" not in named.get("limits", {}):
            yield f"{place}: has a CPU limit that no value names"
    server = rendering.holdfastd()["resources"]
    budget = measure(rendering.values["config"]["limits"]["memory_budget"], MEBIBYTES)
    limit = measure(server["limits"]["memory"], QUANTITIES)
    if limit < budget + HELD_MEBIBYTES:
        yield f"holdfastd: {limit} MiB is too little for a budget of {budget} MiB"
    if "memory" not in named.get("limits", {}) and limit != 2 * (budget + HELD_MEBIBYTES):
        yield f"holdfastd: {limit} MiB is not computed from {budget} MiB"


def probes(rendering):
    """Startup and readiness ask for the whole server; liveness asks the name `liveness`."""
    container = rendering.holdfastd()
    for name, service in (("startup", None), ("readiness", None), ("liveness", "liveness")):
        probe = container[f"{name}Probe"]
        if rendering.values["probes"]["kind"] == "grpc":
            wanted = {"port": 7420} | ({"service": service} if service else {})
            if probe.get("grpc") != wanted:
                yield f"{name}: {probe}"
        else:
            more = ["--service", service] if service else []
            words = ["holdfastd", "healthcheck", "--address", "127.0.0.1:7420", *more]
            if probe.get("exec") != {"command": words} or probe["timeoutSeconds"] < 4:
                yield f"{name}: {probe}"


def stop(rendering):
    """The grace period holds the sleep, the drain and 10 s; no stop needs a shell."""
    config = tools.load(rendering.config()["data"]["holdfastd.yaml"])
    drain = measure(config["server"]["drain_timeout"], SECONDS)
    asked = rendering.values["preStopSeconds"]
    version = tuple(int(part) for part in rendering.case.kubernetes.split(".")[:2])
    sleep = asked if version >= SLEEP_SINCE else 0
    hooks = rendering.holdfastd().get("lifecycle")
    if hooks != ({"preStop": {"sleep": {"seconds": sleep}}} if sleep else None):
        yield f"lifecycle: {hooks}, and {sleep} s are wanted"
    grace = rendering.server()["spec"]["terminationGracePeriodSeconds"]
    if grace != sleep + math.ceil(drain) + STOP_SECONDS:
        yield f"grace of {grace} s for a sleep of {sleep} s and a drain of {drain} s"


def checksums(rendering):
    """A configuration that was changed replaces the pods, and so does a secret."""
    found = rendering.server()["metadata"]["annotations"]
    for name in ("checksum/config", "checksum/secrets"):
        if not re.fullmatch(r"[0-9a-f]{64}", found.get(name, "")):
            yield f"{name}: {found.get(name)}"


def selectors(rendering):
    """Selectors match the pods that they mean, and no other pod of the release."""
    server = rendering.server()["metadata"]["labels"]
    others = [
        pod["metadata"]["labels"]
        for place, pod in rendering.pods()
        if place not in ("Deployment", "StatefulSet")
    ]
    wanted = [("workload", rendering.workload()["spec"]["selector"]["matchLabels"])]
    wanted += [("Service", found["spec"]["selector"]) for found in rendering.kind("Service")]
    wanted += [
        (found["kind"], found["spec"]["selector"]["matchLabels"])
        for found in rendering.kind("PodDisruptionBudget", "PodMonitor")
    ]
    wanted += [
        ("NetworkPolicy", found["spec"]["podSelector"]["matchLabels"])
        for found in rendering.kind("NetworkPolicy")
    ]
    for place, labels in wanted:
        if not labels.items() <= server.items():
            yield f"{place}: {labels} does not match {server}"
        if any(labels.items() <= other.items() for other in others):
            yield f"{place}: {labels} matches a pod that does not serve"
    for found in rendering.kind("ServiceMonitor"):
        labels = found["spec"]["selector"]["matchLabels"]
        matched = [
            service
            for service in rendering.kind("Service")
            if labels.items() <= service["metadata"]["labels"].items()
        ]
        if len(matched) != 1:
            yield f"ServiceMonitor: {len(matched)} services match {labels}"


def names(rendering):
    """Names are unique of their kind, and short enough for labels and for Kubernetes."""
    seen = set()
    for found in rendering.objects:
        name = found["metadata"]["name"]
        most = STATEFUL_NAME_MOST if found["kind"] == "StatefulSet" else NAME_MOST
        if len(name) > most or not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
            yield f"{found['kind']} {name}: is no name"
        if (found["kind"], name) in seen:
            yield f"{found['kind']} {name}: is there twice"
        seen.add((found["kind"], name))
        for label, value in found["metadata"].get("labels", {}).items():
            if len(value) > NAME_MOST:
                yield f"{found['kind']} {name}: {label} is too long"


def rollout(rendering):
    """A rollout over PostgreSQL takes no server away before another one is ready; a file store has
    one server and a volume of its own."""
    found = rendering.workload()
    spec = found["spec"]
    if rendering.over_database():
        strategy = {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        }
        if found["kind"] != "Deployment" or spec["strategy"] != strategy:
            yield f"{found['kind']}: {spec.get('strategy')}"
        if spec["minReadySeconds"] < 1:
            yield "Deployment: the rollout does not wait"
        if ("replicas" in spec) == rendering.values["autoscaling"]["enabled"]:
            yield "Deployment: replicas and the autoscaler contradict each other"
    else:
        if found["kind"] != "StatefulSet" or spec["replicas"] > 1:
            yield f"{found['kind']}: {spec['replicas']} servers over files"
        claims = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])]
        volumes = spec["template"]["spec"]["volumes"]
        claims += [volume["name"] for volume in volumes if "persistentVolumeClaim" in volume]
        mounted = rendering.holdfastd()["volumeMounts"]
        mounts = {mount["name"]: mount["mountPath"] for mount in mounted}
        root = tools.load(rendering.config()["data"]["holdfastd.yaml"])["stores"][0]["root"]
        if claims != ["data"] or not root.startswith(mounts["data"] + "/"):
            yield f"StatefulSet: {claims} at {mounts}, root {root}"


def disruptions(rendering):
    """A budget allows at least one eviction."""
    for found in rendering.kind("PodDisruptionBudget"):
        spec = found["spec"]
        scaling = rendering.values["autoscaling"]
        least = rendering.workload()["spec"].get("replicas", scaling["minReplicas"])
        if ("maxUnavailable" in spec) == ("minAvailable" in spec):
            yield f"PodDisruptionBudget: {spec}"
        if spec.get("maxUnavailable") == 0 or spec.get("minAvailable") == least:
            yield f"PodDisruptionBudget: allows no eviction of {least}"


def ports(rendering):
    """gRPC's port is HTTP/2 without TLS to all who must know."""
    services = rendering.kind("Service")
    headless = [found for found in services if found["spec"].get("clusterIP") == "None"]
    if len(services) != 2 or len(headless) != 1:
        yield f"{len(services)} services, {len(headless)} of them headless"
    for found in services:
        (port,) = [port for port in found["spec"]["ports"] if port["name"] == "grpc"]
        if port["appProtocol"] != "kubernetes.io/h2c" or port["targetPort"] != "grpc":
            yield f"Service {found['metadata']['name']}: {port}"


def network(rendering):
    """The port admits named peers alone; egress is the database and DNS."""
    policies = rendering.kind("NetworkPolicy")
    if bool(policies) != rendering.values["networkPolicy"]["enabled"]:
        yield f"{len(policies)} policies"
    for found in policies:
        spec = found["spec"]
        if spec["policyTypes"] != ["Ingress", "Egress"]:
            yield f"NetworkPolicy: {spec['policyTypes']}"
        for rule in spec["ingress"]:
            if not rule.get("from") or not rule.get("ports"):
                yield f"NetworkPolicy: admits every peer: {rule}"
        open_ports = {port["port"] for rule in spec["egress"] for port in rule["ports"]}
        collector = rendering.values["tracing"]["endpoint"]
        if collector and int(collector.rpartition(":")[2]) not in open_ports:
            yield f"NetworkPolicy: {collector} is out of reach"
        database = rendering.values["store"]["postgres"]["port"]
        if 53 not in open_ports or (database in open_ports) != rendering.over_database():
            yield f"NetworkPolicy: out go {open_ports}"


def metrics(rendering):
    """Metrics have a port where they are on, and none where they are off."""
    wanted = rendering.values["metrics"]
    server = rendering.holdfastd()
    address = f"0.0.0.0:{wanted['port']}"
    config = tools.load(rendering.config()["data"]["holdfastd.yaml"])
    configured = config.get("telemetry", {}).get("metrics_address")
    if configured != (address if wanted["enabled"] else None):
        yield f"telemetry: {config.get('telemetry')}"
    found = [port["containerPort"] for port in server["ports"] if port["name"] == "metrics"]
    found += [
        port["port"]
        for service in rendering.kind("Service")
        for port in service["spec"]["ports"]
        if port["name"] == "metrics"
    ]
    if found != ([wanted["port"]] * 2 if wanted["enabled"] else []):
        yield f"ports {found} of {wanted}"
    rules = [
        rule
        for policy in rendering.kind("NetworkPolicy")
        for rule in policy["spec"]["ingress"]
        if rule["ports"][0]["port"] == "metrics"
    ]
    if len(rules) != (wanted["enabled"] and rendering.values["networkPolicy"]["enabled"]):
        yield f"NetworkPolicy: {rules}"


def rules(rendering):
    """The recording rules and alerts are those of deploy/prometheus, where they are wanted; the
    address of a runbook begins with the base."""
    wanted = rendering.values["metrics"]["prometheusRule"]
    base = wanted["runbookBase"].removesuffix("/")
    groups = []
    for name in ("rules.yaml", "alerts.yaml"):
        text = tools.read(os.path.join(tools.ROOT, "deploy", "prometheus", name))
        groups += tools.load(text)["groups"]
    for rule in (rule for group in groups for rule in group["rules"] if base and "alert" in rule):
        rule["annotations"]["runbook_url"] = f"{base}/{rule['annotations']['runbook_url']}"
    found = rendering.kind("PrometheusRule")
    if [made["spec"]["groups"] for made in found] != ([groups] if wanted["enabled"] else []):
        yield f"{len(found)} PrometheusRules, or with other groups"
    for made in found:
        if not wanted["labels"].items() <= made["metadata"]["labels"].items():
            yield f"PrometheusRule: {made['metadata']['labels']}"


def dashboards(rendering):
    """Each dashboard of the chart has a config map that Grafana's sidecar finds, where they are
    wanted."""
    wanted = rendering.values["dashboards"]
    folder = os.path.join(tools.CHART, "files", "dashboards")
    names = sorted(os.listdir(folder)) if wanted["enabled"] and os.path.isdir(folder) else []
    component = "app.kubernetes.io/component"
    found = [
        made
        for made in rendering.kind("ConfigMap")
        if made["metadata"].get("labels", {}).get(component) == "dashboard"
    ]
    texts = {name: tools.read(os.path.join(folder, name)) for name in names}
    if {name: text for made in found for name, text in made["data"].items()} != texts:
        yield f"{len(found)} dashboards, or others than {names}"
    for made in found:
        marks = {**made["metadata"]["labels"], **made["metadata"].get("annotations", {})}
        if marks.get(wanted["label"]) != wanted["labelValue"]:
            yield f"{made['metadata']['name']}: the sidecar does not find it"
        if marks.get(wanted["folderAnnotation"]) != wanted["folder"]:
            yield f"{made['metadata']['name']}: has another folder"


def tracing(rendering):
    """Spans go where the values say, at their rate; without an endpoint none go."""
    wanted = rendering.values["tracing"]
    config = tools.load(rendering.config()["data"]["holdfastd.yaml"]).get("telemetry", {})
    keys = ("otlp_endpoint", "sampling_ratio", "parent_based", "sampled_roots_per_second")
    configured = tuple(config.get(key) for key in keys)
    values = ("endpoint", "samplingRatio", "parentBased", "sampledRootsPerSecond")
    if configured != tuple(wanted[key] if wanted["endpoint"] else None for key in values):
        yield f"telemetry: {configured}"


def secrets(rendering):
    """No password is in an object of the chart, and the owner's is in no server."""
    if rendering.kind("Secret"):
        yield "a Secret is rendered"
    for found in rendering.kind("ConfigMap"):
        for name, text in found.get("data", {}).items():
            if not name.endswith(".yaml"):
                continue
            for store in tools.load(text)["stores"]:
                password = store.get("password", "file:")
                if not password.startswith(("file:/", "env:")) and password != "file:":
                    yield f"{name}: a password that is no reference"
    container = rendering.holdfastd()
    mounts = [mount["name"] for mount in container["volumeMounts"]]
    variables = [variable["name"] for variable in container.get("env", [])]
    if any(name.startswith("owner-") for name in mounts) or "HOLDFAST_OWNER_PASSWORD" in variables:
        yield "holdfastd: can read the owner's password"


def references(rendering):
    """Every volume that is mounted is there, and every volume is mounted; config maps of the chart
    are rendered."""
    rendered = {found["metadata"]["name"] for found in rendering.kind("ConfigMap")}
    claims = {
        claim["metadata"]["name"]
        for claim in rendering.workload()["spec"].get("volumeClaimTemplates", [])
    }
    for place, pod in rendering.pods():
        spec = pod["spec"]
        volumes = {volume["name"] for volume in spec.get("volumes", [])}
        volumes |= claims if place == "StatefulSet" else set()
        mounted = {
            mount["name"]
            for group in ("initContainers", "containers")
            for container in spec.get(group, [])
            for mount in container.get("volumeMounts", [])
        }
        if volumes != mounted:
            yield f"{place}: volumes {sorted(volumes)}, mounts {sorted(mounted)}"
        for volume in spec.get("volumes", []):
            if volume["name"] == "config" and volume["configMap"]["name"] not in rendered:
                yield f"{place}: there is no config map {volume['configMap']['name']}"


def connections(rendering):
    """Servers take no more connections than the database has for them."""
    database = rendering.values["store"]["postgres"]
    scaling = rendering.values["autoscaling"]
    if not rendering.over_database():
        return
    most = scaling["maxReplicas"]
    if not scaling["enabled"]:
        most = rendering.workload()["spec"]["replicas"]
    taken = (most + 1) * (database["connections"] + 2)
    if taken > database["maxConnections"]:
        yield f"{taken} connections of {database['maxConnections']}"


POLICIES = (
    restricted,
    no_token,
    resources,
    probes,
    stop,
    checksums,
    selectors,
    names,
    rollout,
    disruptions,
    ports,
    network,
    metrics,
    rules,
    dashboards,
    tracing,
    secrets,
    references,
    connections,
)


def violations(rendering):
    for policy in POLICIES:
        for found in policy(rendering):
            yield f"{rendering.case.name}: {policy.__name__}: {found}"
