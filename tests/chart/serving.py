"""Runs what the chart renders: the containers' own arguments over the configuration of the config
map, with paths and addresses of this machine in place of the pod's."""
import os
import stat
import subprocess
import tempfile
import urllib.request

import programs
import tools
from programs import CONVERSATION, WAIT_SECONDS, Folder, Postgres

ADDRESSES = {"0.0.0.0:7420": "127.0.0.1:0", "0.0.0.0:9464": "127.0.0.1:0"}


class Pod:
    """The server's pod of a rendering, in a folder in place of its file system."""

    def __init__(self, found, objects, folder, replaced):
        self.found, self.folder = found, folder
        self.replaced = {"/etc/": f"{folder}/etc/", "/var/lib/": f"{folder}/var/lib/"} | replaced
        (workload,) = [made for made in objects if made["kind"] in ("Deployment", "StatefulSet")]
        self.spec = workload["spec"]["template"]["spec"]
        os.makedirs(f"{folder}/etc/holdfast")
        # As the kubelet leaves the root of a volume for fsGroup.
        os.makedirs(f"{folder}/var/lib/holdfast")
        os.chmod(f"{folder}/var/lib/holdfast", 0o775 | stat.S_ISGID)
        (config,) = [
            made["data"]
            for made in objects
            if made["kind"] == "ConfigMap" and "holdfastd.yaml" in made["data"]
        ]
        for name, text in config.items():
            with open(f"{folder}/etc/holdfast/{name}", "w", encoding="utf-8") as file:
                file.write(self.here(text))
        self.secrets()
        self.serving = None
        self.wrap = list  # what a command is run by

    def here(self, text):
        for pods, ours in self.replaced.items():
            text = text.replace(pods, ours)
        return text

    def secrets(self):
        """Each key of a secret that is mounted is a file with some bytes."""
        for volume in self.spec["volumes"]:
            if "secret" not in volume:
                continue
            mount = f"{self.folder}/etc/holdfast-secrets/{volume['name']}"
            os.makedirs(mount)
            for item in volume["secret"]["items"]:
                with open(f"{mount}/{item['path']}", "w", encoding="utf-8") as file:
                    file.write("some-password\n")

    def command(self, words):
        return [self.found.holdfastd, *[self.here(word) for word in words]]

    def container(self, name):
        all_of_them = self.spec.get("initContainers", []) + self.spec["containers"]
        (only,) = [found for found in all_of_them if found["name"] == name]
        return only

    def run_to_end(self, name):
        """What a container that ends has said, and its exit code."""
        ended = subprocess.run(
            self.wrap(self.command(self.container(name)["args"])),
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    def start(self):
        words = self.container("holdfastd")["args"]
        self.serving = programs.Serving(self.wrap(self.command(words)), f"{self.folder}/log")
        self.address = self.serving.address
        self.metrics = self.serving.facts.get("metrics")

    def probe(self, name):
        """What the exec probe says, and its exit code."""
        program, *words = self.container("holdfastd")[f"{name}Probe"]["exec"]["command"]
        if program != "holdfastd":
            raise SystemExit(f"chart: the probe runs {program}")
        asked = [word.replace("127.0.0.1:7420", self.address) for word in words]
        ended = subprocess.run(
            [self.found.holdfastd, *asked], capture_output=True, text=True, check=False
        )
        return ended.returncode, ended.stdout + ended.stderr

    def stop(self):
        """The exit code after SIGTERM, within what the grace period leaves after the sleep."""
        sleep = self.container("holdfastd")["lifecycle"]["preStop"]["sleep"]["seconds"]
        return self.serving.stop(self.spec["terminationGracePeriodSeconds"] - sleep)

    def end(self):
        if self.serving is not None:
            self.serving.kill()


def drive(pod):
    """Starts the server, probes it, keeps a conversation in it and stops it; what is wrong."""
    pod.start()
    for name in ("startup", "readiness", "liveness"):
        code, said = pod.probe(name)
        if code != 0:
            yield f"the {name} probe ends with {code}: {said}"
    client = os.path.join(os.path.dirname(pod.found.holdfastd), "holdfast")
    words = ["--address", pod.address, "replay", "--run", "chart", "--verify", CONVERSATION]
    replayed = subprocess.run([client, *words], capture_output=True, text=True, check=False)
    if replayed.returncode != 0:
        yield f"the conversation: {replayed.stdout}{replayed.stderr}"
    with urllib.request.urlopen(f"http://{pod.metrics}/metrics", timeout=WAIT_SECONDS) as scrape:
        if b"\nholdfast_" not in scrape.read():
            yield "there are no metrics"
    code = pod.stop()
    if code != 0:
        yield f"the server ends with {code}: {tools.read(pod.folder + '/log')}"


def over_files(found, folder):
    """The defaults, over an empty volume."""
    more = ["--set", "probes.kind=exec", "--set", "metrics.enabled=true"]
    objects = tools.load_all(found.template(4, [], more=more))
    pod = Pod(found, objects, folder, ADDRESSES)
    try:
        yield from drive(pod)
    finally:
        pod.end()


def set_up(database, cluster):
    """Makes of a PostgreSQL what CloudNativePG would by the Cluster that is rendered."""
    made = cluster["spec"]["bootstrap"]["initdb"]
    database.sql("postgres", f"CREATE ROLE {made['owner']} LOGIN")
    database.sql("postgres", f"CREATE DATABASE {made['database']} OWNER {made['owner']}")
    for sql in made["postInitApplicationSQL"]:
        database.sql(made["database"], sql)


def over_postgres(found, folder):
    """The owner migrates, and the serving role serves with the rights that the Cluster gives it."""
    values = ["probes.kind=exec", "metrics.enabled=true", "store.kind=postgres"]
    values += ["cloudnativepg.enabled=true"]
    # The cluster's own superuser has the default's name.
    values += ["store.postgres.user=app", "store.postgres.password.existingSecret=serving"]
    more = [word for value in values for word in ("--set", value)]
    objects = tools.load_all(found.template(4, [], more=more))
    (cluster,) = [made for made in objects if made["kind"] == "Cluster"]
    with Folder() as open_to_all, Postgres(os.path.join(open_to_all, "db")) as database:
        database.start()
        set_up(database, cluster)
        replaced = ADDRESSES | {
            "host='demo-holdfast-db-rw'": f"host='{database.folder}'",
            "sslmode='verify-full'": "sslmode='disable'",
        }
        pod = Pod(found, objects, folder, replaced)
        try:
            for _ in range(2):  # every pod does it
                code, said = pod.run_to_end("migrate")
                if code != 0:
                    yield f"the migration ends with {code}: {said}"
                    return
            yield from drive(pod)
        finally:
            pod.end()


def serves(found):
    """What is rendered serves: over files, and over a database as CloudNativePG sets it up."""
    for run in (over_files, over_postgres):
        with tempfile.TemporaryDirectory(prefix="holdfast chart ") as folder:
            for problem in run(found, folder):
                yield f"{run.__name__}: {problem}"
