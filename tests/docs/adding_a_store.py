#!/usr/bin/env python3
"""Follows docs/adding-a-store.md in a scratch clone: a third store, `mirror`, which is store-fs
under another name, takes the steps of the checklist and no other; then the whole suite runs over
it, the style tests check it, and a server serves a recording from it.

Writes docs/reports/adding-a-store.md.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from programs import Serving  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REPORT = os.path.join(ROOT, "docs", "reports", "adding-a-store.md")

# Of a copied file, in this order.
RENAMES = [
    ("store-fs/", "store-mirror/"),
    ("store-mirror/fs_store", "store-mirror/mirror_store"),
    ("STORE_FS_", "STORE_MIRROR_"),
    ("holdfast::fs", "holdfast::mirror"),
    ('kind = "fs"', 'kind = "mirror"'),
    ("FsStore", "MirrorStore"),
    ("FsOptions", "MirrorOptions"),
    ("FsUnderTest", "MirrorUnderTest"),
    ("fs_under_test", "mirror_under_test"),
    ("FS_UNDER_TEST", "MIRROR_UNDER_TEST"),
    ("tests/support/breaking_files", "tests/contract/mirror_breaking_files"),
    ("HOLDFAST_TESTS_SUPPORT_BREAKING", "HOLDFAST_TESTS_CONTRACT_MIRROR_BREAKING"),
    ("MakeBreakingFiles", "MakeBreakingMirrorFiles"),
    ("FileFault", "MirrorFileFault"),
    ("FileOperation", "MirrorFileOperation"),
]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def replace(path, old, new):
    text = read(path)
    if old not in text:
        raise SystemExit(f"adding-a-store: {path} has no longer: {old}")
    write(path, text.replace(old, new, 1))


def copy_renamed(source, target):
    text = read(source)
    for old, new in RENAMES:
        text = text.replace(old, new)
    write(target, re.sub(r"(?<![\w:])fs::", "mirror::", text))


def step_folder():
    os.mkdir("store-mirror")
    for source in glob.glob("store-fs/*"):
        name = os.path.basename(source).replace("fs_store", "mirror_store")
        copy_renamed(source, f"store-mirror/{name}")


def step_build():
    replace(
        "CMakeLists.txt",
        "holdfast_library(holdfast_server server)",
        "holdfast_library(holdfast_store_mirror store-mirror)\n"
        "target_link_libraries(holdfast_store_mirror\n"
        "  PUBLIC holdfast_session\n"
        "  PRIVATE nlohmann_json::nlohmann_json)\n\n"
        "holdfast_library(holdfast_server server)",
    )
    only = "holdfast_only_from(server/stores.cc holdfast_server holdfast_store_fs store-fs)\n"
    replace("CMakeLists.txt", only, only + only.replace("_fs", "_mirror").replace("-fs", "-mirror"))
    replace("CMakeLists.txt", "set(everything ", "set(everything\n  holdfast_store_mirror\n  ")
    copied = "COPY store-fs store-fs\n"
    replace("Dockerfile", copied, copied + copied.replace("-fs", "-mirror"))
    replace(".dockerignore", "!store-fs\n", "!store-fs\n!store-mirror\n")


def step_arrows():
    rules = "tests/style/rules.py"
    row = re.search(r'    "store-fs": \[.*?\],\n', read(rules), re.DOTALL).group(0)
    replace(rules, row, row + row.replace("store-fs", "store-mirror"))
    seen = '"server/stores.cc": ["store-fs/"'
    replace(rules, seen, seen + ', "store-mirror/"')
    replace("scripts/lint", "session store-fs", "session store-mirror store-fs")
    replace("scripts/tidy", '"store-fs", ', '"store-fs", "store-mirror", ')
    replace("tests/style/documents.py", "session|store-fs|", "session|store-fs|store-mirror|")
    page = "docs/ARCHITECTURE.md"
    for arrow in (
        "  store-fs --> session\n",
        '  server -->|"stores.cc alone"| store-fs\n',
    ):
        replace(page, arrow, arrow + arrow.replace("store-fs", "store-mirror"))


def step_server():
    stores = "server/stores.cc"
    include = '#include "store-fs/fs_store.h"\n'
    replace(stores, include, include + '#include "store-mirror/mirror_store.h"\n')
    kinds = "// Every kind that is built in"
    maker = (
        "absl::StatusOr<std::unique_ptr<SessionStore>> MakeMirror(const StoreConfig& config,\n"
        "                                                         const Clock& clock,\n"
        "                                                         Random& random,\n"
        "                                                         Listeners /*listeners*/) {\n"
        "  return mirror::MakeMirrorStore({.root = config.root}, clock, random);\n"
        "}\n\n"
    )
    replace(stores, kinds, maker + kinds)
    replace(stores, "std::array<Kind, 2>", "std::array<Kind, 3>")
    replace(stores, '{"fs", MakeFs}', '{"fs", MakeFs}, {"mirror", MakeMirror}')


def step_configuration():
    other = 'node["kind"].Scalar() != "fs"'
    replace("server/config.cc", other, other + " && " + other.replace("fs", "mirror"))


def step_suite():
    copy_renamed("tests/contract/fs_under_test.h", "tests/contract/mirror_under_test.h")
    copy_renamed("tests/contract/fs_under_test.cc", "tests/contract/mirror_under_test.cc")
    for suffix in ("h", "cc"):
        source = f"tests/support/breaking_files.{suffix}"
        copy_renamed(source, f"tests/contract/mirror_breaking_files.{suffix}")
    stores = "tests/contract/stores.cc"
    include = '#include "tests/contract/fs_under_test.h"\n'
    replace(stores, include, include + '#include "tests/contract/mirror_under_test.h"\n')
    row = '    {.name = "fs", .make = MakeFsUnderTest},\n'
    replace(stores, row, row + row.replace('"fs"', '"mirror"').replace("MakeFs", "MakeMirror"))


def step_run():
    subprocess.run(["scripts/lint", "--fix"], check=True)
    run = subprocess.run(
        ["scripts/test", r"^contract\..*/mirror$|^style\."], capture_output=True, text=True
    )
    lines = [line for line in run.stdout.splitlines() if re.match(r"failed: |tests: ", line)]
    print("\n".join(lines), flush=True)
    if run.returncode != 0:
        print(run.stdout[-4000:])
        raise SystemExit("adding-a-store: the suite fails over the new store")
    return lines[-1]


def step_serve():
    config = os.path.abspath("build/mirror.yaml")
    root = os.path.abspath("build/mirror")
    write(
        config,
        "server: {address: '127.0.0.1:0'}\n"
        f"stores: [{{name: third, kind: mirror, active: true, root: '{root}'}}]\n",
    )
    server = Serving(["build/bin/holdfastd", "--config", config], "build/mirror.log")
    try:
        command = ["build/bin/holdfast", "--address", server.address, "replay", "--verify"]
        replay = subprocess.run(
            command + ["tests/data/conversation.jsonl"], capture_output=True, text=True, check=True
        )
        return server.ready.strip().replace(root, "ROOT"), replay.stdout.splitlines()[-1]
    finally:
        server.stop()


def follow_checklist():
    for step in (step_folder, step_build, step_arrows, step_server, step_configuration, step_suite):
        step()
        print(f"adding-a-store: {step.__name__}", flush=True)
    return step_run(), step_serve()


def main():
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="holdfast-store-")
    try:
        clone = os.path.join(folder, "clone")
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        os.chdir(clone)
        suite, (ready, replay) = follow_checklist()
    finally:
        os.chdir(ROOT)
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - begin
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    write(
        REPORT,
        "# Adding a store\n\n"
        "`tests/docs/adding_a_store.py` followed [the checklist](../adding-a-store.md) in a clone "
        "with a third store.\n\n"
        f"- suite and style: {suite}\n"
        f"- served: a store of kind `{re.search('kind=([a-z]+)', ready).group(1)}`\n"
        f"- replay: {replay}\n"
        f"- took {seconds:.0f} s with a warm compiler cache\n",
    )
    print(f"adding-a-store: {suite}; {replay}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
