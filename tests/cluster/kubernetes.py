"""A cluster without nodes: etcd and the API server of Kubernetes on loopback. It validates and
stores objects as any cluster does. Nothing acts on them: no controller makes pods of a Deployment,
and no kubelet runs one."""
import json
import os
import secrets
import signal
import subprocess

from programs import WAIT_SECONDS, Failed, done, expect, free_port, wait_for

START_SECONDS = 300  # of the API server beside other load
# Kinds that the chart renders and Kubernetes does not have: module, version, digest, files.
DEFINITIONS = [
    (
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
        [
            "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
            "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
            "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        ],
    ),
    (
        "sigs.k8s.io/gateway-api",
        "v1.6.3",
        "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc=",
        ["config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml"],
    ),
]
# Every pod of these namespaces must keep to the profile; a template that does not brings a warning.
RESTRICTED = {
    f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")
}


class Process:
    """A program that runs in the background; its output goes to a file."""

    def __init__(self, command, log):
        self.name, self.log = os.path.basename(command[0]), log
        with open(log, "wb") as said:
            self.process = subprocess.Popen(
                command, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )

    def expect_running(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as said:
                tail = said.read()[-3000:]
            raise Failed(f"{self.name} ended with {self.process.returncode}: {tail}")

    def stop(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Cluster:
    """Serves within `with`. `apiserver` and `kubectl` are programs, `folder` is for what they keep.
    """

    def __init__(self, apiserver, kubectl, folder):
        self.apiserver, self.program, self.folder = apiserver, kubectl, folder
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        # kubectl caches the cluster's kinds in its home.
        self.environment = os.environ | {"KUBECONFIG": self.kubeconfig, "HOME": folder}
        self.processes = []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.stop()

    def _run(self, name, command):
        self.processes.append(Process(command, os.path.join(self.folder, f"{name}.log")))

    def _start(self):
        clients, peers, port = free_port(), free_port(), free_port()
        etcd = f"http://127.0.0.1:{clients}"
        command = ["etcd", "--data-dir", os.path.join(self.folder, "etcd")]
        command += ["--listen-client-urls", etcd, "--advertise-client-urls", etcd]
        command += ["--listen-peer-urls", f"http://127.0.0.1:{peers}"]
        self._run("etcd", command)
        self._run("apiserver", self._command(etcd, port))
        self._write_kubeconfig(port)
        wait_for("the API server", self._answers, START_SECONDS)
        # Admission asks for it, and what makes it in a cluster with controllers is missing.
        wait_for("its namespaces", lambda: self.kubectl("get", "namespace", "default")[0] == 0)

    def _command(self, etcd, port):
        key = os.path.join(self.folder, "accounts.key")
        done(["openssl", "genrsa", "-out", key, "2048"])
        self.token = secrets.token_hex()
        tokens = os.path.join(self.folder, "tokens.csv")
        with open(tokens, "w", encoding="utf-8") as file:
            file.write(f'{self.token},administrator,administrator,"system:masters"\n')
        os.chmod(tokens, 0o600)
        return [
            self.apiserver,
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder}",
            "--endpoint-reconciler-type=none",  # its own address is not one for pods
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={key}",
            f"--service-account-key-file={key}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged",  # else it refuses such pods before admission does
        ]

    def _write_kubeconfig(self, port):
        server = {"server": f"https://127.0.0.1:{port}"}
        server["certificate-authority"] = os.path.join(self.folder, "apiserver.crt")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": "test", "user": {"token": self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump(config, file)
        os.chmod(self.kubeconfig, 0o600)

    def _answers(self):
        for process in self.processes:
            process.expect_running()
        return self.kubectl("get", "--raw", "/readyz")[0] == 0

    def kubectl(self, *words, objects=None):
        """The exit code of kubectl, its output and what it said beside it. `objects` are its input.
        """
        said = "\n---\n".join(json.dumps(made) for made in objects or [])
        ended = subprocess.run(
            [self.program, *words],
            input=said,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS * 5,
        )
        return ended.returncode, ended.stdout, ended.stderr

    def must(self, *words, objects=None):
        """The output of kubectl, which must succeed."""
        code, out, problem = self.kubectl(*words, objects=objects)
        expect(code == 0, f"kubectl {' '.join(words)}: {out}{problem}")
        return out

    def live(self, objects, namespace):
        """Those of the objects that are there, as they are kept, by kind and name. `namespace` is
        that of objects which name none."""
        words = ["get", "--ignore-not-found", "--output", "json", "--filename", "-"]
        words += ["--namespace", namespace]
        out = self.must(*words, objects=objects)
        # One object is not said as a list.
        found = json.loads(out) if out.strip() else {"items": []}
        return {key_of(made): made for made in found.get("items", [found])}

    def version(self):
        """The version of the API that it says it serves."""
        return json.loads(self.must("version", "--output", "json"))["serverVersion"]["gitVersion"]

    def add_namespace(self, name):
        """A restricted namespace with the account that a controller would make in it."""
        metadata = {"name": name, "labels": RESTRICTED}
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self.must("create", "--filename", "-", objects=[made])

    def add_definitions(self, module):
        """The kinds of DEFINITIONS; `module` is what finds a module's directory."""
        for path, version, digest, files in DEFINITIONS:
            folder = module(path, version, digest)
            for file in files:
                self.must("create", "--filename", os.path.join(folder, file))
        self.must("wait", "--for=condition=Established", "--timeout=120s", "crd", "--all")


def key_of(made):
    """Kind, with its group, and name of an object."""
    group = made["apiVersion"].rpartition("/")[0]
    return (f"{made['kind']}.{group}".rstrip("."), made["metadata"]["name"])
