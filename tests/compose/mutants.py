"""For each rule changes of what Compose made of the file that it must refuse."""


def bind(found, service, number=0):
    kinds = [each for each in found["services"][service]["volumes"] if each["type"] == "bind"]
    return kinds[number]


def change(service, **changes):
    return lambda found: found["services"][service].update(changes)


def environment(service, **changes):
    return lambda found: found["services"][service]["environment"].update(changes)


MUTANTS = {
    "confined": [
        change("tempo", read_only=False),
        change("grafana", user="root"),
        change("grafana", user="0:0"),
        change("postgres", cap_drop=[]),
        change("postgres", cap_add=["CHOWN"]),
        change("holdfast-b", security_opt=[]),
    ],
    "images": [
        change("tempo", image="grafana/tempo:latest"),
        change("migrate", image="holdfast:9.9.9"),
    ],
    "published": [
        lambda found: found["services"]["holdfast-b"]["ports"][0].pop("host_ip"),
        change("tempo", network_mode="host"),
    ],
    "mounts": [
        lambda found: bind(found, "tempo").update(source="/nonexistent"),
        lambda found: bind(found, "holdfast-a").update(read_only=False),
        lambda found: found["volumes"].pop("tempo"),
    ],
    "health": [
        lambda found: found["services"]["postgres"].pop("healthcheck"),
        change("holdfast-a", healthcheck={"test": ["CMD", "true"]}),
        change("tempo", healthcheck={"test": ["CMD", "true"]}),
    ],
    "order": [
        change("holdfast-b", depends_on={"migrate": {"condition": "service_started"}}),
        lambda found: found["services"]["migrate"].pop("depends_on"),
    ],
    "secrets": [
        environment("postgres", POSTGRES_PASSWORD="postgres"),
        environment("holdfast-a", HOLDFAST_PG="secret-holdfast_owner_password"),
        environment("grafana", GF_SECURITY_ADMIN_PASSWORD="admin"),
    ],
    "stops": [
        change("holdfast-a", stop_grace_period="39s"),
        lambda found: found["services"]["holdfast-b"].pop("stop_grace_period"),
    ],
    "insecure": [
        # The owner's configuration has no line that says so.
        lambda found: bind(found, "holdfast-a").update(
            source=bind(found, "prometheus")["source"].replace("prometheus.yaml", "tempo.yaml")
        ),
    ],
    "addresses": [
        lambda found: found["services"].pop("holdfast-b"),
        lambda found: found["services"].update({"holdfast-c": found["services"]["holdfast-a"]}),
    ],
    "tempo_keys": [
        lambda found: bind(found, "tempo").update(
            source=bind(found, "tempo")["source"].replace("tempo.yaml", "prometheus.yaml")
        ),
        lambda found: found["services"]["tempo"]["volumes"][0].update(target="/tempo"),
    ],
    "provisioning": [
        environment("grafana", GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH="/etc/grafana/home.json"),
        lambda found: bind(found, "grafana", 1).update(target="/etc/grafana/boards"),
    ],
}
