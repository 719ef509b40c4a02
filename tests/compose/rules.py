"""What holds of deploy/compose. A rule is a function of what Compose made of the file that yields
what is wrong."""
import os
import re

import yaml

from programs import ROOT, project_version
from tools import FOLDER, RULE_FILES, example_variables, read

GRAFANA = os.path.join(ROOT, "deploy", "grafana")
# Services that have no health check -> the reason.
UNCHECKED = {
    "migrate": "it ends",
    "tempo": "its image has no program that could ask it",
}
# A data source that another one leads to, and that an operator may add.
OPTIONAL_SOURCES = {"loki"}
STOP_SECONDS = 10


DURATION, ADDRESS, DIRECTORY = r"\d+[smh]", r"0\.0\.0\.0:\d+", r"/var/tempo/\w+"
# The keys of tempo.yaml, as Tempo's manual has them -> what a value must be.
TEMPO_KEYS = {
    "server.http_listen_port": r"\d+",
    "distributor.receivers.otlp.protocols.grpc.endpoint": ADDRESS,
    "ingester.max_block_duration": DURATION,
    "compactor.compaction.block_retention": DURATION,
    "storage.trace.backend": "local",
    "storage.trace.local.path": DIRECTORY,
    "storage.trace.wal.path": DIRECTORY,
    "usage_report.reporting_enabled": "True|False",
}


def services(found):
    return found["services"].items()


def binds(service):
    return [volume for volume in service.get("volumes", []) if volume["type"] == "bind"]


def source_of(service, target):
    """The file of the project that the service sees at `target`, or None."""
    for volume in binds(service):
        if target == volume["target"] or target.startswith(volume["target"] + "/"):
            return volume["source"] + target[len(volume["target"]) :]
    return None


def confined(found):
    """Every container is read-only, of a user by number, and without rights."""
    for name, service in services(found):
        if not service.get("read_only"):
            yield f"{name}: can be written to"
        if not re.fullmatch(r"[1-9]\d*:\d+", service.get("user", "")):
            yield f"{name}: runs as {service.get('user')}"
        if service.get("cap_drop") != ["ALL"] or service.get("cap_add") or "privileged" in service:
            yield f"{name}: has capabilities"
        if "no-new-privileges:true" not in service.get("security_opt", []):
            yield f"{name}: may get privileges"


def images(found):
    """Every image has a version, and Holdfast's is that of the source."""
    version = project_version()
    for name, service in services(found):
        image, _, tag = service["image"].partition(":")
        if not re.match(r"v?\d+\.\d+", tag):
            yield f"{name}: {service['image']} has no version"
        if image == "holdfast" and tag != version:
            yield f"{name}: {tag} is not the version {version}"


def published(found):
    """Ports are published to this machine alone."""
    for name, service in services(found):
        for port in service.get("ports", []):
            if port.get("host_ip") != "127.0.0.1":
                yield f"{name}: port {port['target']} is open to other machines"
        if service.get("network_mode"):
            yield f"{name}: shares the network of {service['network_mode']}"


def mounts(found):
    """Every file that is mounted is there, and cannot be written to; volumes are declared."""
    for name, service in services(found):
        for volume in binds(service):
            there = os.path.exists(volume["source"]) or volume["source"] in RULE_FILES
            if not there:
                yield f"{name}: there is no {volume['source']}"
            if not volume.get("read_only"):
                yield f"{name}: can write to {volume['source']}"
        for volume in service.get("volumes", []):
            if volume["type"] == "volume" and volume["source"] not in found["volumes"]:
                yield f"{name}: there is no volume {volume['source']}"


def health(found):
    """Every server has a health check, and holdfastd's is its own."""
    for name, service in services(found):
        test = service.get("healthcheck", {}).get("test", [])
        if (not test) != (name in UNCHECKED):
            yield f"{name}: its health check is {test}"
        if service["image"].startswith("holdfast:") and test not in (
            ["CMD", "holdfastd", "healthcheck"],
            [],
        ):
            yield f"{name}: its health check is {test}"
    for name in set(UNCHECKED) - set(found["services"]):
        yield f"{name}: is no service"


def order(found):
    """The schema is brought up to date before a server starts, and the database before that."""
    for name, service in services(found):
        wanted = {}
        if name == "migrate":
            wanted = {"postgres": "service_healthy"}
        elif service["image"].startswith("holdfast:"):
            wanted = {"migrate": "service_completed_successfully"}
        waits = {
            other: how["condition"] for other, how in (service.get("depends_on") or {}).items()
        }
        if not wanted.items() <= waits.items():
            yield f"{name}: waits for {waits}"


def secrets(found):
    """Every secret is a variable of .env.example, and none is in a file; the owner's is in no
    server."""
    variables = example_variables()
    used = set()
    for name, service in services(found):
        for key, value in (service.get("environment") or {}).items():
            if value in variables.values():
                used.add(value)
            elif re.search(r"PASSWORD|SECRET|_PG$", key):
                yield f"{name}: {key} is written out"
        owner = variables["HOLDFAST_OWNER_PASSWORD"]
        if owner in (service.get("environment") or {}).values():
            if name not in ("postgres", "migrate"):
                yield f"{name}: knows the owner's password"
    for name, value in variables.items():
        if value not in used:
            yield f".env.example: {name} is not used"


def stops(found):
    """A server has the time of its drain and more before it is killed."""
    for name, service in services(found):
        path = source_of(service, "/etc/holdfast/holdfastd.yaml")
        if path is None:
            continue
        drain = yaml.safe_load(read(path))["server"]["drain_timeout"]
        grace = service.get("stop_grace_period", "10s")
        if int(grace.removesuffix("s")) < int(drain.removesuffix("s")) + STOP_SECONDS:
            yield f"{name}: is killed after {grace}, and drains for {drain}"


def insecure(found):
    """The first line of each file says that servers are insecure, where they are."""
    first = read(os.path.join(FOLDER, "compose.yaml")).split("\n", maxsplit=1)[0]
    if not first.startswith("# INSECURE: `server.insecure: true`"):
        yield f"compose.yaml: begins with {first}"
    for name, service in services(found):
        path = source_of(service, "/etc/holdfast/holdfastd.yaml")
        if path is None:
            continue
        is_insecure = yaml.safe_load(read(path)).get("server", {}).get("insecure") is True
        if not is_insecure or not read(path).startswith("# INSECURE"):
            yield f"{name}: {path} does not say first that it is insecure"


def addresses(found):
    """What names another service names one that is there, at a port that it listens at."""
    services_found = found["services"]

    def known(place, address, ports):
        host, _, port = address.removeprefix("http://").partition(":")
        if host not in services_found or port not in ports:
            yield f"{place}: {address} is no service"

    holdfast = yaml.safe_load(
        read(source_of(services_found["holdfast-a"], "/etc/holdfast/holdfastd.yaml"))
    )
    tempo = yaml.safe_load(read(source_of(services_found["tempo"], "/etc/tempo/tempo.yaml")))
    otlp = tempo["distributor"]["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"]
    http = str(tempo["server"]["http_listen_port"])
    yield from known("holdfastd.yaml", holdfast["telemetry"]["otlp_endpoint"], otlp.split(":")[1:])
    metrics = holdfast["telemetry"]["metrics_address"].split(":")[1]
    scraped = yaml.safe_load(
        read(source_of(services_found["prometheus"], "/etc/prometheus/prometheus.yaml"))
    )["scrape_configs"]
    jobs = {job["job_name"]: job["static_configs"][0]["targets"] for job in scraped}
    servers = {name for name, service in services(found) if "holdfastd.yaml" in str(service)}
    if {target.split(":")[0] for target in jobs["holdfast"]} != servers:
        yield f"prometheus.yaml: scrapes {jobs['holdfast']} of {sorted(servers)}"
    for target in jobs["holdfast"]:
        yield from known("prometheus.yaml", target, [metrics])
    for target in jobs["tempo"]:
        yield from known("prometheus.yaml", target, [http])
    for source in data_sources():
        ports = {"prometheus": ["9090"], "tempo": [http]}[source["type"]]
        yield from known("data source", source["url"], ports)


def data_sources():
    folder = os.path.join(GRAFANA, "provisioning", "datasources")
    return yaml.safe_load(read(os.path.join(folder, "holdfast.yaml")))["datasources"]


def flat(value, path=""):
    """(path of keys, value) of everything below."""
    if not isinstance(value, dict):
        yield path, str(value)
        return
    for key, below in value.items():
        yield from flat(below, f"{path}.{key}" if path else key)


def tempo_keys(found):
    """Tempo's file has keys that Tempo has, with values of their kind, and writes to its volume."""
    service = found["services"]["tempo"]
    keys = dict(flat(yaml.safe_load(read(source_of(service, "/etc/tempo/tempo.yaml")))))
    for path, value in keys.items():
        if not re.fullmatch(TEMPO_KEYS.get(path, ""), value):
            yield f"tempo.yaml: {path}: {value}"
    volumes = [each["target"] for each in service["volumes"] if each["type"] == "volume"]
    for path in ("storage.trace.local.path", "storage.trace.wal.path"):
        if not any(keys.get(path, "").startswith(volume + "/") for volume in volumes):
            yield f"tempo.yaml: {path} is in no volume"


def provisioning(found):
    """Grafana finds its files, and data sources lead to each other."""
    grafana = found["services"]["grafana"]
    providers = os.path.join("/etc/grafana/provisioning", "dashboards", "holdfast.yaml")
    for provider in yaml.safe_load(read(source_of(grafana, providers)))["providers"]:
        folder = source_of(grafana, provider["options"]["path"])
        if folder is None or not any(name.endswith(".json") for name in os.listdir(folder)):
            yield f"grafana: {provider['options']['path']} has no dashboard"
    home = source_of(grafana, grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    if home is None or not os.path.exists(home):
        yield f"grafana: there is no {home}"
    uids = {source["uid"] for source in data_sources()} | OPTIONAL_SOURCES
    for source in data_sources():
        for uid in re.findall(r"'datasourceUid': '(\w+)'", str(source)):
            if uid not in uids:
                yield f"data source {source['name']}: leads to {uid}"


RULES = (
    confined,
    images,
    published,
    mounts,
    health,
    order,
    secrets,
    stops,
    insecure,
    addresses,
    tempo_keys,
    provisioning,
)
