"""The image of stand_ins.yaml: an empty system into which the machine's /usr is mounted."""
import os
import subprocess

PASSWD = "root:x:0:0::/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n"
# Directory -> owner and mode, which volumes and memory file systems take over.
DIRECTORIES = {
    "dev": (0, 0o755),
    "etc": (0, 0o755),
    "proc": (0, 0o755),
    "sys": (0, 0o755),
    "tmp": (0, 0o1777),
    "usr": (0, 0o755),
    "prometheus": (65534, 0o755),
    "var/lib/postgresql/data": (999, 0o700),
    "var/run/postgresql": (999, 0o3777),
    "var/tempo": (10001, 0o755),
}
LINKS = ["bin", "lib", "lib64", "sbin"]


def build_stand_in(daemon, folder, tag):
    root = os.path.join(folder, "stand-in")
    for name, (owner, mode) in DIRECTORIES.items():
        path = os.path.join(root, name)
        os.makedirs(path)
        os.chmod(path, mode)
        os.chown(path, owner, owner)
    for name in LINKS:
        os.symlink(f"usr/{name}", os.path.join(root, name))
    with open(os.path.join(root, "etc", "passwd"), "w", encoding="utf-8") as file:
        file.write(PASSWD)
    archive = os.path.join(folder, "stand-in.tar")
    subprocess.run(["tar", "-C", root, "--numeric-owner", "-cf", archive, "."], check=True)
    daemon.docker("import", archive, tag)
