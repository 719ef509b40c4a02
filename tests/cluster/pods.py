"""Pods of the renderings in a namespace that enforces the Pod Security Standard `restricted`. A
controller would make them of the templates; here the test does. A check is a function from
renderings.Checker to what is wrong."""
import copy
import json
import re

from renderings import NAMESPACE, one_of

CREATE = ["create", "--dry-run=server", "--validate=strict", "--filename", "-"]


def pod_of(made):
    """The pod of an object, or None if it has none."""
    if made["kind"] == "Pod":
        spec = copy.deepcopy(made["spec"])
        labels = made["metadata"].get("labels", {})
    elif made["kind"] in ("Deployment", "StatefulSet", "Job"):
        template = copy.deepcopy(made["spec"]["template"])
        spec, labels = template["spec"], template["metadata"]["labels"]
    else:
        return None
    for claim in made["spec"].get("volumeClaimTemplates", []):
        # As the controller of a StatefulSet does it.
        name = claim["metadata"]["name"]
        claimed = {"claimName": f"{name}-{made['metadata']['name']}-0"}
        spec.setdefault("volumes", []).append({"name": name, "persistentVolumeClaim": claimed})
    metadata = {"namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pods_of(checker):
    """Each pod of the cases once, by the case and the kind that it comes from."""
    seen, pods = set(), {}
    for case in checker.renderings:
        for made in checker.known(case):
            pod = pod_of(made)
            text = json.dumps(pod, sort_keys=True)
            if pod and text not in seen:
                seen.add(text)
                pods[f"{case}-{made['kind'].lower()}"] = pod
    return pods


def answers(checker, pods):
    """What is said against each of the pods, by its name here; nothing of one that is taken."""
    named = []
    for name, pod in pods.items():
        named.append(copy.deepcopy(pod))
        named[-1]["metadata"]["name"] = name
    names = {pod["spec"].get("serviceAccountName", "default") for pod in named}
    accounts = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": NAMESPACE},
        }
        for name in sorted(names)
    ]
    checker.cluster.must("apply", "--filename", "-", objects=accounts)
    _, out, said = checker.cluster.kubectl(*CREATE, objects=named)
    checker.delete(accounts)
    taken = set(re.findall(r"^pod/(\S+) created", out, re.MULTILINE))
    # Neither taken nor named by an error: then all that was said is about it.
    return {
        name: [line for line in said.splitlines() if f'"{name}"' in line] or [said]
        for name in pods
        if name not in taken
    } | {name: [said] for name in taken if "Warning" in said}


def every_pod_is_admitted(checker):
    """Every pod of every case is admitted, with its init containers, without a warning."""
    pods = pods_of(checker)
    for name, said in answers(checker, pods).items():
        yield f"{name}: {said}"
    inits = sum(len(pod["spec"].get("initContainers", [])) for pod in pods.values())
    kinds = sorted({name.rpartition("-")[2] for name in pods})
    print(f"report: {len(pods)} pods of {', '.join(kinds)} admitted, {inits} init containers")


def everywhere(pod, change):
    change(pod["spec"].setdefault("securityContext", {}))
    for container in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]:
        change(container.setdefault("securityContext", {}))


def last_container(pod):
    """The one that a mutant changes: an init container if there is one."""
    return (pod["spec"].get("initContainers") or pod["spec"]["containers"])[-1]


def volume(pod, source):
    pod["spec"].setdefault("volumes", []).append({"name": "more"} | source)


# What the refusal must say, and a change of a pod that brings it.
MUTANTS = [
    ("runAsNonRoot != true", lambda pod: everywhere(pod, lambda at: at.pop("runAsNonRoot", None))),
    ("runAsNonRoot != true", lambda pod: everywhere(pod, lambda at: at.update(runAsNonRoot=False))),
    ("runAsUser=0", lambda pod: pod["spec"]["securityContext"].update(runAsUser=0)),
    ("seccompProfile", lambda pod: pod["spec"]["securityContext"].pop("seccompProfile")),
    (
        "seccompProfile",
        lambda pod: last_container(pod)["securityContext"].update(
            seccompProfile={"type": "Unconfined"}
        ),
    ),
    (
        "allowPrivilegeEscalation != false",
        lambda pod: last_container(pod)["securityContext"].update(allowPrivilegeEscalation=True),
    ),
    (
        "allowPrivilegeEscalation != false",
        lambda pod: last_container(pod)["securityContext"].pop("allowPrivilegeEscalation"),
    ),
    (
        "unrestricted capabilities",
        lambda pod: last_container(pod)["securityContext"].pop("capabilities"),
    ),
    (
        "unrestricted capabilities",
        lambda pod: last_container(pod)["securityContext"]["capabilities"].update(add=["NET_RAW"]),
    ),
    (
        "privileged",
        lambda pod: last_container(pod)["securityContext"].update(
            privileged=True, allowPrivilegeEscalation=True
        ),
    ),
    ("host namespaces", lambda pod: pod["spec"].update(hostPID=True)),
    ("hostPath", lambda pod: volume(pod, {"hostPath": {"path": "/"}})),
]
# Case and kind that such a pod is of.
SOURCES = [
    ("defaults", "StatefulSet.apps"),
    ("defaults", "Pod"),
    ("postgres", "Deployment.apps"),
    ("migration-hook", "Job.batch"),
]


def mutants_are_refused(checker):
    """A pod that asks for more than the profile allows is refused with the rule that it breaks."""
    caught = 0
    for case, kind in SOURCES:
        sound, mutants = pod_of(one_of(checker, case, kind)), {}
        for number, (_, mutate) in enumerate(MUTANTS):
            mutants[f"mutant-{number}"] = copy.deepcopy(sound)
            mutate(mutants[f"mutant-{number}"])
        said = answers(checker, mutants)
        for number, (words, _) in enumerate(MUTANTS):
            about = " ".join(said.get(f"mutant-{number}", []))
            if 'violates PodSecurity "restricted:latest"' in about and words in about:
                caught += 1
            else:
                yield f"{kind}: mutant {number} is not refused for '{words}': {about}"
    print(f"figure: {caught} mutants caught")
    print(f"report: {len(MUTANTS)} mutants of each of {len(SOURCES)} pods refused")
