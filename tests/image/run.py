#!/usr/bin/env python3
"""Tests the root of the image, which scripts/image-root makes of the programs of a build.

    tests/image/run.py CASE [BUILD]    runs one case with the programs of BUILD/bin, or build/bin
    tests/image/run.py --list          names the cases

The cases that serve from the root need the right to mount and to change the user: they call sudo
where they do not run as root.
"""
import glob
import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "support"))

import programs  # noqa: E402
from programs import WAIT_SECONDS, expect  # noqa: E402

BUILD = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "build")
PROGRAMS = os.path.join(BUILD, "bin")
IMAGE_ROOT = os.path.join(ROOT, "scripts", "image-root")
LIST = "usr/share/doc/holdfast/holdfast.spdx.json"
STATE = "var/lib/holdfast"
USER = 65532
SECONDS = 1_700_000_000  # the time of everything in a tree
# What an intruder would look for first. Names, without a directory.
TOOLS = re.compile(
    r"(ba|da|a|c|z|k|tc)?sh|busybox|perl.*|python.*|apt.*|dpkg.*|ld|as"
    r"|(gcc|cc|c\+\+|g\+\+|cpp)(-\d+)?"
    r"|make|ninja|cmake|ccache|curl|wget|nc|git|sudo|su|mount|.*\.(key|p12|a|o|cc|h|py)"
)
CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
# Runs $4 and what follows in the tree $1, which nothing can write to but the state directory $2;
# $3 is what lies in etc/holdfast.
CONFINED = """
set -eu
mount --make-rprivate /
mount --bind "$1" "$1"
mount --bind "$2" "$1/var/lib/holdfast"
mount --bind "$3" "$1/etc/holdfast"
mount --bind /dev "$1/dev"
mount --rbind /proc "$1/proc"
for at in "$1" "$1/etc/holdfast"; do
  mount -o remount,bind,ro "$at"
  if touch "$at/written" 2>/dev/null; then echo "$at can be written to" >&2; exit 99; fi
done
tree=$1
shift 3
exec env -i PATH=/usr/bin XDG_STATE_HOME=/var/lib setpriv --no-new-privs --inh-caps=-all \\
  /usr/sbin/chroot --userspec=65532:65532 --groups= "$tree" "$@"
"""
CONFIG = 'server: {address: "127.0.0.1:0"}\n'


def digest(path, kind="sha256"):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def build(folder, name="root"):
    tree = os.path.join(folder, name)
    subprocess.run(
        [IMAGE_ROOT, "--test-build", PROGRAMS, tree],
        env=os.environ | {"SOURCE_DATE_EPOCH": str(SECONDS)},
        check=True,
    )
    return tree


def entries(tree):
    """Every path below the tree, relative to it, with its status; links are not followed."""
    for folder, folders, names in os.walk(tree):
        for name in [*folders, *names]:
            path = os.path.join(folder, name)
            yield os.path.relpath(path, tree), os.lstat(path)


def files(tree):
    return {below for below, status in entries(tree) if stat.S_ISREG(status.st_mode)}


def spdx(tree):
    with open(os.path.join(tree, LIST), encoding="utf-8") as file:
        return json.load(file)


# --- The list ---------------------------------------------------------------------------------

PACKAGE_KEYS = {"SPDXID", "name", "versionInfo", "downloadLocation", "packageVerificationCode"}
PACKAGE_KEYS |= {"licenseConcluded", "licenseDeclared", "licenseInfoFromFiles", "copyrightText"}
FILE_KEYS = {"SPDXID", "fileName", "checksums", "licenseConcluded", "licenseInfoInFiles"}
FILE_KEYS |= {"copyrightText"}


def contained(document, package):
    """The entries of the files that the package is said to contain."""
    by_id = {entry["SPDXID"]: entry for entry in document["files"]}
    return [
        by_id[each["relatedSpdxElement"]]
        for each in document["relationships"]
        if each["relationshipType"] == "CONTAINS" and each["spdxElementId"] == package["SPDXID"]
    ]


def checksum(entry, algorithm):
    found = [c["checksumValue"] for c in entry["checksums"] if c["algorithm"] == algorithm]
    expect(len(found) == 1, f"{entry['fileName']}: has {len(found)} checksums {algorithm}")
    return found[0]


def list_is_valid_spdx(folder):
    """What SPDX 2.3 demands of such a document, and that its own sums agree."""
    document = spdx(build(folder))
    head = [document[key] for key in ("spdxVersion", "dataLicense", "SPDXID")]
    expect(head == ["SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"], f"the head says {head}")
    expect(document["documentNamespace"].startswith("urn:uuid:"), "the namespace is no URI")
    made = document["creationInfo"]
    expect(made["created"] == "2023-11-14T22:13:20Z", f"it was created {made['created']}")
    expect(made["creators"], "it has no creator")
    named = [e["SPDXID"] for e in [document, *document["packages"], *document["files"]]]
    expect(len(named) == len(set(named)), "an SPDXID is given twice")
    for name in named:
        expect(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name), f"{name} is no SPDXID")
    for each in document["relationships"]:
        for end in (each["spdxElementId"], each["relatedSpdxElement"]):
            expect(end in named, f"a relationship leads to {end}, which is nowhere")
    for entry in document["files"]:
        expect(FILE_KEYS <= set(entry), f"{entry['fileName']}: lacks {FILE_KEYS - set(entry)}")
    for package in document["packages"]:
        expect(PACKAGE_KEYS <= set(package), f"{package['name']}: lacks a key")
        sums = sorted(checksum(entry, "SHA1") for entry in contained(document, package))
        code = hashlib.sha1("".join(sums).encode()).hexdigest()
        said = package["packageVerificationCode"]["packageVerificationCodeValue"]
        expect(code == said, f"{package['name']}: its verification code is {said}, not {code}")


def list_has_each_file_once(folder):
    require_listed(build(folder))


def require_listed(tree):
    """The tree holds what is listed, with those sums, the list itself, and no other file."""
    document = spdx(tree)
    listed = {entry["fileName"].removeprefix("./"): entry for entry in document["files"]}
    expect(len(listed) == len(document["files"]), "a file is listed twice")
    expect(files(tree) - set(listed) == {LIST}, f"not listed: {files(tree) - set(listed)}")
    expect(set(listed) <= files(tree), f"not there: {set(listed) - files(tree)}")
    for below, entry in listed.items():
        path = os.path.join(tree, below)
        for kind in ("SHA1", "SHA256"):
            expect(checksum(entry, kind) == digest(path, kind.lower()), f"{below}: another {kind}")
    owned = [e["fileName"] for p in document["packages"] for e in contained(document, p)]
    expect(sorted(owned) == sorted(f"./{below}" for below in listed), "files without one package")


def libraries_are_those_of_listed_packages(folder):
    """Each library is byte for byte what Debian's package of the listed version brought, and the
    loader finds each that the programs need in the tree."""
    tree = build(folder)
    document = spdx(tree)
    versions = {p["name"]: p["versionInfo"] for p in document["packages"]}
    owners = {
        entry["fileName"]: package["name"]
        for package in document["packages"]
        for entry in contained(document, package)
    }
    libraries = [below for below in files(tree) if ".so" in os.path.basename(below)]
    spelled = [f"/{below.removeprefix(prefix)}" for below in libraries for prefix in ("", "usr/")]
    brought = dpkg("-S", *spelled, check=False).stdout  # of two spellings it knows one
    names = [package["name"] for package in document["packages"] if package["name"] != "holdfast"]
    installed = set(dpkg("-W", "-f", "${Package} ${Version}\n", *names).stdout.splitlines())
    for name in names:
        expect(f"{name} {versions[name]}" in installed, f"{name}: {versions[name]} is not there")
    for below in libraries:
        name = owners[f"./{below}"]
        expect(digest(f"/{below}") == digest(os.path.join(tree, below)), f"{below}: was changed")
        place = re.escape(below.removeprefix("usr"))
        of = rf"^{re.escape(name)}(:\S+)?: (/usr)?{place}$"
        expect(re.search(of, brought, re.M), f"{below}: is not of {name}")
    for name in names:
        path = os.path.join(tree, "usr", "share", "doc", name, "copyright")
        expect(os.path.exists(path), f"{name}: its licence is missing")
    loader = subprocess.run(
        ["ldd", os.path.join(PROGRAMS, "holdfastd"), os.path.join(PROGRAMS, "holdfast")],
        capture_output=True,
        text=True,
        check=True,
    )
    opened = {os.path.realpath(path)[1:] for path in re.findall(r"(/\S+) \(0x", loader.stdout)}
    expect(opened == set(libraries), f"needed and there differ: {opened ^ set(libraries)}")
    print(f"image: {len(libraries)} libraries of {len(names)} packages")


def dpkg(*arguments, check=True):
    command = ["dpkg-query", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=check)


def trusts_the_authorities_of_the_package_alone(folder):
    """A machine may trust others, and the package has an example that must not be trusted."""
    tree = build(folder)
    with open(os.path.join(tree, "etc", "ssl", "certs", "ca-certificates.crt"), "rb") as file:
        bundle = file.read()
    certificates = CERTIFICATE.findall(bundle)
    expected = []
    for path in glob.glob("/usr/share/ca-certificates/mozilla/*.crt"):
        with open(path, "rb") as file:
            expected += CERTIFICATE.findall(file.read())
    expect(len(expected) > 100, f"only {len(expected)} certificates are in the package")
    same = sorted(certificates) == sorted(expected)
    expect(same, f"{len(certificates)} certificates, of {len(expected)} in the package")


# --- The tree ---------------------------------------------------------------------------------


def holds_no_tools_and_no_open_modes(folder):
    require_no_tools(build(folder))


def require_no_tools(tree):
    for below, status in entries(tree):
        name, mode = os.path.basename(below), status.st_mode
        if stat.S_ISLNK(mode):
            target = os.readlink(os.path.join(tree, below))
            at = os.path.join("/", os.path.dirname(below), target)
            expect(os.path.lexists(tree + os.path.normpath(at)), f"{below}: leads nowhere")
            continue
        expect(stat.S_ISREG(mode) or stat.S_ISDIR(mode), f"{below}: is neither file nor directory")
        expect(not mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX), f"{below}: mode {mode:o}")
        expect(not mode & (stat.S_IWGRP | stat.S_IWOTH), f"{below}: others may write to it")
        if stat.S_ISREG(mode):
            expect(not TOOLS.fullmatch(name), f"{below}: has no place in an image")
    executable = {b for b in files(tree) if os.access(os.path.join(tree, b), os.X_OK)}
    loader = {below for below in executable if os.path.basename(below).startswith("ld-linux")}
    programs = {"usr/bin/holdfastd", "usr/bin/holdfast"}
    expect(executable - loader == programs, f"executable: {executable}")


def picture(tree):
    return {
        below: (
            status.st_mode,
            status.st_mtime,
            status.st_uid,
            os.readlink(os.path.join(tree, below)) if stat.S_ISLNK(status.st_mode) else "",
            digest(os.path.join(tree, below)) if stat.S_ISREG(status.st_mode) else "",
        )
        for below, status in entries(tree)
    }


def is_the_same_twice(folder):
    before = os.umask(0o077)
    first = picture(build(folder, "first"))
    os.umask(before)
    second = picture(build(folder, "second"))
    differ = [b for b in set(first) | set(second) if first.get(b) != second.get(b)]
    expect(not differ, f"differ: {[(b, first.get(b), second.get(b)) for b in differ[:5]]}")
    times = {seen[1] for seen in first.values()}
    expect(times == {SECONDS}, f"times other than SOURCE_DATE_EPOCH: {times}")


def archive(folder, name, umask, seconds=SECONDS, program=IMAGE_ROOT):
    """Of a root in a place of its own, made under a umask; its path."""
    path, before = os.path.join(folder, f"{name}.tar"), os.umask(umask)
    subprocess.run(
        [program, "--test-build", "--archive", path, PROGRAMS, os.path.join(folder, name)],
        env=os.environ | {"SOURCE_DATE_EPOCH": str(seconds)},
        check=True,
    )
    os.umask(before)
    return path


# Lines of scripts/image-root, and others in their place after which two archives differ.
ARCHIVE_MUTANTS = [
    ("for name in sorted(below):", "for name in sorted(below, reverse=True):"),
    ("USER if name == STATE else 0", "USER if name == STATE else os.getpid()"),
    ("entry.mtime = seconds", "entry.mtime = os.stat('/proc/self').st_mtime"),
    ("os.chmod(path, 0o755 if os.access(path, os.X_OK) else 0o644)", "pass"),
    ("uuid.uuid5(uuid.NAMESPACE_OID, name)", "uuid.uuid4()"),
]


def archives_are_the_same_bytes(folder):
    """Of two roots of the same programs; and each change of the script is seen."""
    first = digest(archive(folder, "first", 0o077))
    second = digest(archive(folder, "a-longer-name", 0o022))
    expect(first == second, f"two archives differ: {first} {second}")
    print(f"image: both archives have the SHA-256 {first}")
    with open(IMAGE_ROOT, encoding="utf-8") as file:
        text = file.read()
    for number, (words, others) in enumerate(ARCHIVE_MUTANTS):
        expect(text.count(words) == 1, f"image-root does not have `{words}` once")
        mutant = os.path.join(folder, f"image-root-{number}")
        with open(mutant, "w", encoding="utf-8") as file:
            file.write(text.replace(words, others))
        os.chmod(mutant, 0o755)
        changed = digest(archive(folder, f"changed-{number}", 0o077, program=mutant))
        expect(changed != first, f"`{others}` in place of `{words}` is not seen")
    print(f"figure: {len(ARCHIVE_MUTANTS)} mutants caught")


def members(path):
    """Everything of an archive but times: name -> what it is, in order."""
    with tarfile.open(path) as file:
        return {
            entry.name: (entry.type, entry.mode, entry.uid, entry.gid, entry.linkname)
            + ((file.extractfile(entry).read(),) if entry.isfile() else ())
            for entry in file
        }


def another_time_changes_times_alone(folder):
    """The files' times, and what the list says of its own."""
    first, later = (
        members(archive(folder, name, 0o022, seconds))
        for name, seconds in (("first", SECONDS), ("later", SECONDS + 86400))
    )
    expect(list(first) == list(later), "they hold other names")
    differ = [name for name in first if first[name] != later[name]]
    expect(differ == [LIST], f"not only the list differs: {differ}")
    lists = [json.loads(found[LIST][-1]) for found in (first, later)]
    for found in lists:
        del found["creationInfo"]["created"], found["documentNamespace"]
    expect(lists[0] == lists[1], "the lists differ in more than their time and their name")


def programs_have_no_trace_of_their_debug_data(folder):
    """That data differs with the compiler's cache, and so would the build id."""
    tree = build(folder)
    for name in ("holdfastd", "holdfast"):
        path = os.path.join(tree, "usr", "bin", name)
        sections = programs.done(["readelf", "--wide", "--section-headers", path])
        found = re.findall(r"\.debug\w+|\.note\.gnu\.build-id", sections)
        expect(".text" in sections and not found, f"{name}: has {found}")


def names_no_build_directory(folder):
    tree = build(folder)
    for below in files(tree):
        with open(os.path.join(tree, below), "rb") as file:
            content = file.read()
        for place in {ROOT, os.path.abspath(PROGRAMS), folder}:
            expect(place.encode() + b"/" not in content, f"{below}: names {place}")


# --- What is refused --------------------------------------------------------------------------


def refuses_a_test_build(folder):
    """A release is taken as it is, so that this holds of either preset."""
    program = os.path.join(PROGRAMS, "holdfastd")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    test_build = "(test build)" in said.stdout
    command = [IMAGE_ROOT, PROGRAMS, os.path.join(folder, "root")]
    ran = subprocess.run(command, capture_output=True, text=True)
    refused = ran.returncode == 1 and "build the preset release" in ran.stderr
    expect(refused == test_build, f"test build: {test_build}, refused: {ran.stderr}")


def refuses_a_changed_file(folder):
    """A file that differs from what its package brought is refused."""
    listed = dpkg("-L", "ca-certificates").stdout.splitlines()
    victim = next(path for path in listed if re.search(r"/mozilla/.*\.crt$", path))
    changed = os.path.join(folder, "changed")
    shutil.copy(victim, changed)
    with open(changed, "a", encoding="utf-8") as file:
        file.write("\n")
    script = 'set -eu; mount --make-rprivate /; mount --bind "$1" "$2"; shift 2; exec "$@"'
    root = os.path.join(folder, "root")
    inner = [changed, victim, IMAGE_ROOT, "--test-build", PROGRAMS, root]
    command = ["unshare", "--mount", "sh", "-c", script, "sh", *inner]
    ran = subprocess.run(command, capture_output=True, text=True)
    wanted = f"image-root: {victim}: is not as ca-certificates brought it"
    expect(ran.returncode == 1 and wanted in ran.stderr, f"{ran.returncode} {ran.stderr}")


# --- What it serves ---------------------------------------------------------------------------


class Confined:
    """The tree with a state directory, and with a directory for what is in etc/holdfast."""

    def __init__(self, folder):
        self.tree = build(folder)
        self.state, self.etc = os.path.join(folder, "state"), os.path.join(folder, "etc")
        os.mkdir(self.state, 0o700)
        os.chown(self.state, USER, USER)
        os.mkdir(self.etc)
        os.chmod(self.etc, 0o755)
        with open(os.path.join(self.etc, "holdfastd.yaml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        shutil.copy(os.path.join(ROOT, "tests", "data", "conversation.jsonl"), self.etc)
        for name in os.listdir(self.etc):
            os.chmod(os.path.join(self.etc, name), 0o644)

    def command(self, *arguments):
        places = [self.tree, self.state, self.etc]
        return ["unshare", "--mount", "sh", "-c", CONFINED, "sh", *places, *arguments]

    def run(self, *arguments):
        return subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=WAIT_SECONDS
        )


@contextlib.contextmanager
def serving(confined):
    """The server of the tree, until the end of the block."""
    log = os.path.join(os.path.dirname(confined.tree), "log")
    command = confined.command("holdfastd", "--config", "/etc/holdfast/holdfastd.yaml")
    server = programs.Serving(command, log)
    try:
        yield server
    finally:
        server.kill()


def facts(pid):
    """What the kernel says of a process: its status, and for each mount whether it is ro or rw."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    return status, {mount[4]: mount[5].split(",")[0] for mount in mounts}


def require_unprivileged(status, options):
    for key in ("Uid", "Gid"):
        expect(set(status[key].split()) == {str(USER)}, f"{key} is {status[key]}")
    expect(set(status["Groups"].split()) <= {str(USER)}, f"it has the groups {status['Groups']}")
    expect(int(status["CapEff"], 16) == 0, f"it has capabilities: {status['CapEff']}")
    expect(status["NoNewPrivs"] == "1", "it can gain privileges")
    expect(options["/"] == "ro" and options[f"/{STATE}"] == "rw", f"its mounts: {options}")


def serves_read_only_as_unprivileged_user(folder):
    """Ready, healthy, a replay without a difference, exit 0, and what was kept is there again."""
    confined = Confined(folder)
    before = picture(confined.tree)
    with serving(confined) as server:
        require_unprivileged(*facts(server.pid))
        health = confined.run("holdfastd", "healthcheck", "--address", server.address)
        expect(health.returncode == 0, f"healthcheck: {health.returncode} {health.stderr}")
        recording = ["--verify", "/etc/holdfast/conversation.jsonl"]
        replay = ["holdfast", "--address", server.address, "replay", "--run", "kept", *recording]
        said = confined.run(*replay)
        print(said.stdout, end="")
        whole = "3 sessions, 7 turns, 27 messages, 0 differences"
        expect(said.returncode == 0 and whole in said.stdout, f"replay: {said}")
        code = server.stop()
        expect(code == 0, f"SIGTERM ended it with {code}")
        health = confined.run("holdfastd", "healthcheck", "--address", server.address)
        expect(health.returncode == 1, f"healthcheck of no server: {health.returncode}")
    with serving(confined) as server:
        listed = confined.run("holdfast", "--address", server.address, "session", "list")
        expect(listed.stdout.count("-kept") == 3, f"after the restart: {listed}")
        expect(server.stop() == 0, "the second server does not end in order")
    expect(picture(confined.tree) == before, "the tree was written to")


# --- The Dockerfile ---------------------------------------------------------------------------


def dockerfile_copies_each_folder_of_the_programs(folder):
    """And the list of what the builder may see has each of them."""
    del folder
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        text = file.read()
    made = re.findall(r"^holdfast_(?:library|protos)\(\w+ ([\w-]+)\)", text, re.M)
    expect(len(made) >= 6, f"only {made} are understood of CMakeLists.txt")
    with open(os.path.join(ROOT, "Dockerfile"), encoding="utf-8") as file:
        copied = dict(re.findall(r"^COPY ([\w-]+) ([\w-]+)$", file.read(), re.M))
    with open(os.path.join(ROOT, ".dockerignore"), encoding="utf-8") as file:
        seen = re.findall(r"^!([\w-]+)$", file.read(), re.M)
    for name in made:
        expect(copied.get(name) == name, f"the Dockerfile does not copy {name}")
        expect(name in seen, f".dockerignore leaves {name} out")


NEEDS_ROOT = [serves_read_only_as_unprivileged_user, refuses_a_changed_file]
CASES = {
    "".join(word.capitalize() for word in case.__name__.split("_")): case
    for case in (
        list_is_valid_spdx,
        list_has_each_file_once,
        libraries_are_those_of_listed_packages,
        trusts_the_authorities_of_the_package_alone,
        holds_no_tools_and_no_open_modes,
        is_the_same_twice,
        archives_are_the_same_bytes,
        another_time_changes_times_alone,
        programs_have_no_trace_of_their_debug_data,
        names_no_build_directory,
        refuses_a_test_build,
        refuses_a_changed_file,
        serves_read_only_as_unprivileged_user,
        dockerfile_copies_each_folder_of_the_programs,
    )
}


def in_a_folder(case):
    """The case with a directory of its own, and with the rights that it needs."""

    def check(_):
        if case in NEEDS_ROOT and os.geteuid() != 0:
            os.execvp("sudo", ["sudo", sys.executable, *sys.argv])
        with tempfile.TemporaryDirectory(prefix="holdfast-image-") as folder:
            case(folder)

    return check


if __name__ == "__main__":
    sys.exit(programs.main({name: in_a_folder(case) for name, case in CASES.items()}))
