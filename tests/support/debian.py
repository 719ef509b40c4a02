"""Small Debian systems of the packages' own archive, security updates included."""
import os
import subprocess

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def sources():
    """The lines of the archives that this machine has its packages from."""
    form = f'deb [signed-by="{KEYS}"] $(REPO_URI) $(RELEASE) $(COMPONENT)'
    asked = ["apt-get", "indextargets", "--format", form, "Created-By: Packages", "ORIGIN: Debian"]
    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    return "\n".join(sorted(set(lines))) + "\n"


def make_system(archive, variant, packages=()):
    """A tar of Debian's system of that variant with these packages, at the path `archive`."""
    listed = f"{archive}.list"
    with open(listed, "w", encoding="utf-8") as file:
        file.write(sources())
    included = [f"--include={','.join(packages)}"] if packages else []
    command = ["mmdebstrap", "--quiet", f"--variant={variant}", *included]
    rights = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*rights, *command, "bookworm", archive, listed], check=True)
    os.remove(listed)
