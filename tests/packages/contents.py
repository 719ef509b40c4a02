"""What an installation brings, by cmake and by the packages, and what the manual says."""
import gzip
import os
import re

import built
from programs import ROOT, Folder, done, expect, project_version, run

# Where Debian has another place than cmake --install has below its prefix.
DEBIAN = [
    ("lib/systemd/", "usr/lib/systemd/"),
    ("etc/", "usr/etc/"),
    ("usr/share/zsh/vendor-completions/", "usr/share/zsh/site-functions/"),
]
UNIT = "lib/systemd/system/holdfast.service"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tree(folder):
    return {
        os.path.relpath(os.path.join(at, name), folder)
        for at, _, names in os.walk(folder)
        for name in names
    }


def as_installed(path):
    for debian, ours in DEBIAN:
        if path.startswith(debian):
            return ours + path[len(debian) :]
    return path


def check_install(build):
    """cmake --install brings the files of both packages, with a unit of its prefix, and leaves a
    configuration that is there alone."""
    packages = built.packages(build, project_version())
    with Folder() as folder:
        debian, prefix = os.path.join(folder, "debian"), os.path.join(folder, "root", "usr")
        for package in packages:
            done(["dpkg-deb", "--extract", package, debian])
        configuration = os.path.join(prefix, "etc", "holdfast", "holdfastd.yaml")
        install = ["cmake", "--install", build, "--prefix", prefix]
        done(install)
        with open(configuration, "a", encoding="utf-8") as file:
            file.write("# mine\n")
        done(install)
        expect(read(configuration).endswith("# mine\n"), "a second installation overwrote a file")
        wanted = {as_installed(path) for path in tree(debian) if "changelog.Debian" not in path}
        found = tree(os.path.join(folder, "root"))
        expect(found == wanted, f"only by one of both: {sorted(found ^ wanted)}")
        unit = read(os.path.join(prefix, UNIT))
        expect(f"ExecStart={prefix}/bin/holdfastd --config {configuration}\n" in unit, unit)
        ours = read(os.path.join(ROOT, "deploy", "systemd", "holdfast.service"))
        expect(read(os.path.join(debian, UNIT)) == ours, "the package has another unit")
        secrets = os.stat(os.path.join(debian, "etc", "holdfast", "holdfastd.env"))
        expect(secrets.st_mode & 0o777 == 0o600, f"holdfastd.env has {secrets.st_mode:o}")


def check_manual(build):
    """groff has nothing to warn of, every command of the programs is there, and the completion of
    holdfastd knows its words."""
    bin_folder = os.path.join(build, "bin")
    with Folder() as folder:
        done([os.path.join(ROOT, "scripts", "man-pages"), bin_folder, folder])
        shown = {}
        for name in ("holdfast.1", "holdfastd.8"):
            warned = run(["groff", "-man", "-ww", "-z", os.path.join(folder, name)])
            expect(not warned.stdout, f"{name}: {warned.stdout}")
            page = ["groff", "-man", "-Tascii", "-P-cbou", os.path.join(folder, name)]
            shown[name] = " ".join(done(page).split())
    for heading in re.findall(r"^## (holdfast .+)$", read(os.path.join(ROOT, "docs/cli.md")), re.M):
        expect(f" {heading} " in shown["holdfast.1"], f"holdfast.1 has no `{heading}`")
    completion = read(os.path.join(ROOT, "deploy", "completions", "holdfastd"))
    words = words_of(os.path.join(bin_folder, "holdfastd"))
    for word in sorted(words):
        expect(word in shown["holdfastd.8"], f"holdfastd.8 has no `{word}`")
        expect(re.search(rf"(?<![\w-]){word}(?![\w-])", completion), f"no completion of `{word}`")
    expect({"migrate", "adopt", "--config"} <= words, f"--help has the words {sorted(words)} alone")


def words_of(program, *command):
    """Commands and long options that --help names, of the commands below too."""
    said = done([program, *command, "--help"])
    found = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", said, re.MULTILINE))
    _, _, below = said.partition("\nSubcommands:\n")
    for word in re.findall(r"^  ([a-z]+)\b", below.partition("\n\n")[0], re.MULTILINE):
        found |= {word} | words_of(program, *command, word)
    return found


def check_lintian(build):
    """lintian finds no error, and the version says what kind of build it is."""
    packages = built.packages(build, project_version())
    expect(len(packages) == 2, f"not two packages: {packages}")
    done(["lintian", "--allow-root", "--fail-on", "error", *packages])
    said = done([os.path.join(build, "bin", "holdfastd"), "--version"])
    for package in packages:
        version = built.field(package, "Version")
        expect(version.startswith(project_version()), f"{package}: has the version {version}")
        for word, kind in (("(test build)", "+testbuild"), ("-dirty", "+dirty")):
            expect((word in said) == (kind in version), f"{version} is of `{said.strip()}`")
    with Folder() as folder:
        done(["dpkg-deb", "--extract", packages[0], folder])
        log = os.path.join(folder, "usr/share/doc/holdfast-server/changelog.Debian.gz")
        with gzip.open(log, "rt") as file:
            expect(f"({built.field(packages[0], 'Version')})" in file.readline(), "the changelog")
