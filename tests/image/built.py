"""The image as scripts/image builds it, on a base that is made of Debian's packages."""
import os
import subprocess

from debian import make_system
from programs import ROOT

DATA = os.path.join(ROOT, "build", "image")  # where a daemon keeps the layers for the next time
BASE = "debian:bookworm-slim"


def make_base(daemon, folder):
    """Debian's minimal system of the packages' own archive, security updates included."""
    if daemon.docker("image", "inspect", BASE, check=False).returncode == 0:
        return
    archive = os.path.join(folder, "base.tar")
    make_system(archive, "minbase")
    daemon.docker("import", "--change", 'CMD ["bash"]', archive, BASE)
    os.remove(archive)


def build_image(daemon, folder, tag):
    """`folder` is for what is needed on the way."""
    make_base(daemon, folder)
    subprocess.run(
        [os.path.join(ROOT, "scripts", "image"), "--tag", tag, "--network", "host"],
        env=daemon.environment,
        check=True,
    )
