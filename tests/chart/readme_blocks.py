"""The commands of the chart's README. helm and kubectl take them as they are printed, and send
nothing to a cluster: each prints the objects that it makes. For that `helm install` is
`helm template`, which takes the same arguments: helm 3 has no other form without a cluster."""
import os
import shlex
import subprocess
import tempfile

import tools
from inventory import Printed

README = "helm/holdfast/README.md"
VALUES = "values.yaml"
# What the reader writes before, by the text.
WRITTEN = ["serving.txt", "owner.txt", "ca.crt"]
SHELL = ["bash", "-euo", "pipefail", "-c"]
SECONDS = 120


def stand_in(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nset -eu\n{text}\n")
    os.chmod(path, 0o755)


def make_clone(folder, values):
    os.makedirs(os.path.join(folder, "helm"))
    os.symlink(tools.CHART, os.path.join(folder, "helm", "holdfast"))
    for name in WRITTEN:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(name)
    with open(os.path.join(folder, VALUES), "w", encoding="utf-8") as file:
        file.write(values)


def type_block(found, major, folder, block):
    """What a block prints, and its exit code."""
    programs = os.path.join(folder, f"helm-{major}")
    os.makedirs(programs, exist_ok=True)
    helm, kubectl = shlex.quote(found.helm(major)), shlex.quote(found.kubectl())
    stand_in(programs, "helm", f'[ "$1" = install ]\nshift\nexec {helm} template "$@"')
    stand_in(programs, "kubectl", f'echo ---\nexec {kubectl} "$@" --dry-run=client --output=yaml')
    place = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": folder, "KUBECONFIG": "/dev/null"}
    return subprocess.run(
        [*SHELL, block],
        cwd=folder,
        env=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def secrets_read(part):
    """(secret, key) of each one that an object reads; the key is None where all are."""
    if isinstance(part, dict):
        key = part.get("secretKeyRef")
        if key:
            yield key["name"], key["key"]
        volume = part.get("secret")
        if isinstance(volume, dict):
            name = volume.get("secretName") or volume.get("name")
            yield from ((name, item["key"]) for item in volume.get("items", [{"key": None}]))
        part = list(part.values())
    for inner in part if isinstance(part, list) else []:
        yield from secrets_read(inner)


def unmade(objects):
    """What the pods of the chart read of secrets that the commands do not make."""
    made = {
        found["metadata"]["name"]: set(found["data"])
        for found in objects
        if found["kind"] == "Secret"
    }
    pods = [found for found in objects if found["kind"] in ("Deployment", "StatefulSet")]
    read = set(secrets_read(pods))
    for name, key in sorted(read, key=str):
        if name not in made:
            yield f"the secret {name} is read and not made"
        elif key is not None and key not in made[name]:
            yield f"{key} of the secret {name} is read and not made"
    for name in sorted(made.keys() - {name for name, _ in read}):
        yield f"the secret {name} is made and not read"


def blocks_run(found):
    """The commands install both stores; what the second one reads of secrets they have made."""
    printed = Printed("chart.Readme")
    files, postgres = printed.take(README, "Install", "sh")
    values, operator = printed.take(README, "Install", "yaml")
    for major in tools.HELMS:
        with tempfile.TemporaryDirectory() as folder:
            make_clone(folder, values)
            for block, kind in ((files, "StatefulSet"), (postgres, "Deployment")):
                ended = type_block(found, major, folder, block)
                if ended.returncode != 0:
                    yield f"helm {major}: ended with {ended.returncode}: {block}{ended.stdout}"
                    continue
                objects = [made for made in tools.load_all(ended.stdout) if made]
                if kind not in [made["kind"] for made in objects]:
                    yield f"helm {major}: no {kind} is made: {block}"
                yield from unmade(objects)
            path = os.path.join(folder, "operator.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(operator)
            rendered = tools.load_all(found.template(major, [path]))
            if "Cluster" not in [made["kind"] for made in rendered if made]:
                yield f"helm {major}: no Cluster of the operator is made"
    printed.expect_all_taken()
