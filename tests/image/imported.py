"""An image within seconds: the root that scripts/image-root lays out of compiled programs, with the
last stage of the Dockerfile. The compile alone differs from what scripts/image does."""
import os
import re
import subprocess

from programs import ROOT, expect

COPIED = re.compile(r"^COPY --from=build \S+ /$", re.MULTILINE)


def import_image(daemon, programs, folder, tag):
    """`programs` is a directory with holdfastd and holdfast, of any preset. `folder` is for
    what is needed on the way."""
    root, context = os.path.join(folder, "root"), os.path.join(folder, "context")
    os.makedirs(context)
    image_root = [os.path.join(ROOT, "scripts", "image-root"), "--test-build"]
    # A copy out of a context belongs to root; what an archive has keeps its owner.
    archive = ["--archive", os.path.join(context, "root.tar")]
    subprocess.run([*image_root, *archive, programs, root], check=True)
    with open(os.path.join(ROOT, "Dockerfile"), encoding="utf-8") as file:
        last = file.read().rpartition("\nFROM ")
    stage, replaced = COPIED.subn("ADD root.tar /", "FROM " + last[2])
    expect(replaced == 1, f"the last stage of the Dockerfile copies no root: {stage}")
    with open(os.path.join(context, "Dockerfile"), "w", encoding="utf-8") as file:
        file.write(stage)
    daemon.docker("build", "--quiet", "--tag", tag, context)
