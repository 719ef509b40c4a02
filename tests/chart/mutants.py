"""For each policy a change of a rendering that it must refuse."""


def server_container(rendering):
    return rendering.holdfastd()


def pod_spec(rendering):
    return rendering.server()["spec"]


def context(rendering):
    return server_container(rendering)["securityContext"]


def selector(rendering, kind):
    return first(rendering, kind)["spec"]["selector"]


def workload_spec(rendering):
    return rendering.workload()["spec"]


def first(rendering, kind):
    return rendering.kind(kind)[0]


def config_map(rendering):
    return rendering.config()["data"]


def rule_of(groups):
    spec, metadata = {"groups": groups}, {"name": "rules", "labels": {}}
    return {"kind": "PrometheusRule", "metadata": metadata, "spec": spec}


def dashboard(labels, annotations):
    labels = {"app.kubernetes.io/component": "dashboard", **labels}
    metadata = {"name": "dashboard", "labels": labels, "annotations": annotations}
    return {"kind": "ConfigMap", "metadata": metadata, "data": {}}


MUTANTS = {
    "restricted": [
        lambda found: context(found).pop("capabilities"),
        lambda found: context(found).update(readOnlyRootFilesystem=False),
        lambda found: pod_spec(found)["securityContext"].update(runAsUser=0),
        lambda found: pod_spec(found)["securityContext"].pop("seccompProfile"),
        lambda found: first(found, "Pod")["spec"]["securityContext"].pop("runAsNonRoot"),
    ],
    "no_token": [
        lambda found: pod_spec(found).pop("automountServiceAccountToken"),
        lambda found: first(found, "ServiceAccount").pop("automountServiceAccountToken"),
    ],
    "resources": [
        lambda found: server_container(found)["resources"]["limits"].update(cpu="1"),
        lambda found: server_container(found)["resources"]["limits"].update(memory="1535Mi"),
        lambda found: server_container(found)["resources"]["limits"].pop("memory"),
    ],
    "probes": [
        lambda found: server_container(found)["livenessProbe"]["grpc"].pop("service"),
        lambda found: server_container(found)["readinessProbe"]["grpc"].update(service="liveness"),
    ],
    "stop": [
        lambda found: pod_spec(found).update(terminationGracePeriodSeconds=30),
        lambda found: server_container(found).update(lifecycle={"preStop": {"exec": {}}}),
    ],
    "checksums": [
        lambda found: found.server()["metadata"]["annotations"].pop("checksum/config"),
        lambda found: found.server()["metadata"]["annotations"].update({"checksum/secrets": ""}),
    ],
    "selectors": [
        lambda found: selector(found, "Service").update(extra="label"),
        lambda found: selector(found, "Service").pop("app.kubernetes.io/component"),
        lambda found: selector(found, "PodDisruptionBudget")["matchLabels"].clear(),
    ],
    "names": [
        lambda found: first(found, "Service")["metadata"].update(name="n" * 64),
        lambda found: found.objects.append(first(found, "Service")),
    ],
    "rollout": [
        lambda found: workload_spec(found)["strategy"]["rollingUpdate"].update(maxSurge=0),
        lambda found: workload_spec(found).pop("replicas"),
    ],
    "disruptions": [
        lambda found: first(found, "PodDisruptionBudget")["spec"].update(maxUnavailable=0),
    ],
    "ports": [
        lambda found: first(found, "Service")["spec"]["ports"][0].update(appProtocol="http"),
        lambda found: found.objects.remove(first(found, "Service")),
    ],
    "network": [
        lambda found: first(found, "NetworkPolicy")["spec"]["ingress"][0].pop("from"),
        lambda found: first(found, "NetworkPolicy")["spec"]["egress"].pop(),
        lambda found: found.objects.remove(first(found, "NetworkPolicy")),
    ],
    "metrics": [
        lambda found: server_container(found)["ports"].append(
            {"name": "metrics", "containerPort": 9464}
        ),
        lambda found: config_map(found).update(
            {"holdfastd.yaml": "telemetry: {metrics_address: '0.0.0.0:9464'}"}
        ),
    ],
    "rules": [
        lambda found: found.objects.append(rule_of([])),
        lambda found: found.values["metrics"]["prometheusRule"].update(enabled=True),
        lambda found: (
            found.values["metrics"]["prometheusRule"].update(enabled=True),
            found.objects.append(rule_of([{"name": "another", "rules": []}])),
        ),
    ],
    "dashboards": [
        lambda found: found.objects.append(dashboard({"grafana_dashboard": "1"}, {})),
        lambda found: found.objects.append(dashboard({}, {"grafana_folder": "Holdfast"})),
    ],
    "tracing": [
        lambda found: config_map(found).update(
            {"holdfastd.yaml": "telemetry: {otlp_endpoint: 'another:4317'}"}
        ),
    ],
    "secrets": [
        lambda found: found.objects.append({"kind": "Secret", "metadata": {"name": "secret"}}),
        lambda found: server_container(found)["volumeMounts"].append({"name": "owner-password"}),
        lambda found: config_map(found).update(
            {"holdfastd.yaml": "stores: [{password: written-out}]"}
        ),
    ],
    "references": [
        lambda found: pod_spec(found)["volumes"].pop(),
        lambda found: pod_spec(found)["volumes"][0]["configMap"].update(name="another"),
    ],
    "connections": [
        lambda found: workload_spec(found).update(replicas=9),
    ],
}
