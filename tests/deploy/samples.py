"""The sample configurations of deploy/config."""
import os
import re

from programs import ROOT, Folder, expect, run

SAMPLES = os.path.join(ROOT, "deploy", "config")
LOOPBACK = re.compile(r"^\s*address: (127\.|unix:)", re.MULTILINE)


def without_insecure(text, folder):
    path = os.path.join(folder, "secured.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("  insecure: true\n", ""))
    return path


def check(build):
    """Every sample is accepted. Where it listens beyond this machine its first line says so, and it
    is refused without `insecure`."""
    names = sorted(os.listdir(SAMPLES))
    expect(names == ["high-availability.yaml", "laptop.yaml", "team.yaml"], f"found {names}")
    for name in names:
        path = os.path.join(SAMPLES, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        command = [os.path.join(build, "bin", "holdfastd"), "--check-config", "--config"]
        checked = run(command + [path])
        expect(checked.returncode == 0, f"{name}: {checked.stdout}")
        first = text.splitlines()[0]
        if LOOPBACK.search(text):
            expect("insecure" not in text.lower(), f"{name}: nothing of it is insecure")
            continue
        expect(first.startswith("# INSECURE: "), f"{name} begins with: {first}")
        with Folder() as folder:
            secured = run(command + [without_insecure(text, folder)])
        expect(
            secured.returncode != 0 and "server.insecure" in secured.stdout,
            f"{name} without `insecure`: {secured.stdout}",
        )
