"""The checks of the chart. A check is a function from the tools to what is wrong."""
import base64
import copy
import json
import os
import shutil
import subprocess
import tempfile

import policies
import readme_blocks
import serving
import tools
import types_of_objects
from mutants import MUTANTS
from programs import project_version

CASES_LEAST, WRONG_LEAST = 30, 20
SCHEMA = os.path.join(tools.CHART, "values.schema.json")
VALUES = os.path.join(tools.CHART, "values.yaml")
README = os.path.join(tools.CHART, "README.md")


def lint(found):
    """helm's own linter is content, on both majors, over files and over PostgreSQL."""
    over = ["--values", os.path.join(tools.HERE, "base", "postgres.yaml")]
    for major in tools.HELMS:
        for values in ([], over):
            ended = found.run(major, "lint", "--strict", tools.CHART, *values)
            if ended.returncode != 0:
                yield f"helm {major}: {ended.stdout}{ended.stderr}"


def render(found):
    """Every case is rendered, by both majors alike."""
    cases = tools.cases()
    if len(cases) < CASES_LEAST:
        yield f"{len(cases)} cases, and {CASES_LEAST} are wanted"

    def both(case):
        try:
            return [found.render(case, major) for major in tools.HELMS]
        except tools.Refused as refused:
            return [str(refused), ""]

    for case, (one, other) in zip(cases, tools.for_each(both, cases)):
        if one != other:
            yield f"{case.name}: helm 3 and helm 4 differ: {one[:2000]}"
    print(f"chart: {len(cases)} cases")


def misspelt(objects):
    """The objects with one field misspelt, and with one of another type."""
    spelt, typed = copy.deepcopy(objects), copy.deepcopy(objects)
    pod = spelt[0]["spec"]["template"]["spec"]
    pod["terminationGracePeriodSecond"] = pod.pop("terminationGracePeriodSeconds")
    typed[0]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = "grpc"
    return spelt, typed


def types(found):
    """Every field that is rendered exists, with the type that it has in the API."""
    cases = tools.cases()
    objects = dict(zip(cases, tools.for_each(found.objects, cases)))
    seen, sources = set(), {}
    for case, rendered in objects.items():  # most objects are alike in many cases
        fresh = {json.dumps(made, sort_keys=True): made for made in rendered}
        sources[case.name] = types_of_objects.source_of(
            [made for text, made in fresh.items() if text not in seen]
        )
        seen |= fresh.keys()
    yield from types_of_objects.compile_all(found, "types", sources).splitlines()
    deployment = [
        rendered
        for case in cases
        if case.name == "postgres"
        for rendered in objects[case]
        if rendered["kind"] == "Deployment"
    ]
    spelt, typed = misspelt(deployment)
    wrong = {
        "spelt": types_of_objects.source_of(spelt),
        "typed": types_of_objects.source_of(typed),
    }
    said = types_of_objects.compile_all(found, "types-wrong", wrong)
    for file, word in (("spelt.ts", "terminationGracePeriodSecond"), ("typed.ts", "number")):
        if not any(file in line and word in line for line in said.splitlines()):
            yield f"the compiler lets {file} pass: {said}"


def policies_hold(found):
    """Every policy holds of every rendering, and refuses each mutant of one."""
    cases = tools.cases()
    renderings = {
        case.name: policies.Rendering(case, objects)
        for case, objects in zip(cases, tools.for_each(found.objects, cases))
    }
    for rendering in renderings.values():
        yield from policies.violations(rendering)
    sound = renderings["postgres"]
    for policy in policies.POLICIES:
        mutants = MUTANTS.get(policy.__name__, [])
        if not mutants:
            yield f"{policy.__name__}: has no mutant"
        for number, mutate in enumerate(mutants):
            mutant = policies.Rendering(sound.case, copy.deepcopy(sound.objects))
            mutate(mutant)
            if not list(policy(mutant)):
                yield f"{policy.__name__}: does not see mutant {number}"


def configuration(found):
    """holdfastd takes every configuration that is rendered."""

    def check(case):
        files = [
            (name, text)
            for rendered in found.objects(case)
            if rendered["kind"] == "ConfigMap"
            for name, text in rendered["data"].items()
            if name in ("holdfastd.yaml", "migrate.yaml")
        ]
        return [
            f"{case.name}: {name}: {said}"
            for name, text in files
            for code, said in [found.check_config(text, f"{case.name}.{name}")]
            if code != 0
        ] + ([] if files else [f"{case.name}: has no configuration"])

    for problems in tools.for_each(check, tools.cases()):
        yield from problems


def refusal(found, case):
    """What both majors say to the case; None of one that takes it."""
    said = []
    for major in tools.HELMS:
        try:
            found.template(major, case.files, release=case.release, kubernetes=case.kubernetes)
            said.append(None)
        except tools.Refused as refused:
            said.append(" ".join(str(refused).split()))
    return said


def wrong_values(found):
    """Wrong values are refused with words that name the value and what to do."""
    cases = tools.cases(os.path.join(tools.HERE, "wrong"))
    if len(cases) < WRONG_LEAST:
        yield f"{len(cases)} wrong cases, and {WRONG_LEAST} are wanted"
    answers = tools.for_each(lambda case: refusal(found, case), cases)
    for case, said in zip(cases, answers):
        if not case.expected:
            yield f"{case.name}: expects no words"
        for major, words in zip(tools.HELMS, said):
            for expected in case.expected:
                if words is None or expected not in words:
                    yield f"{case.name}: helm {major} says {words}, and not '{expected}'"
    print(f"chart: {len(cases)} wrong values")


def wrong_configurations(found):
    """What holdfastd refuses of the section `config`, the chart refuses before it is installed."""
    folder = os.path.join(tools.HERE, "wrong-config")
    cases = tools.cases(folder)
    (default,) = [case for case in tools.cases() if case.name == "defaults"]
    (rendered,) = [
        text
        for made in found.objects(default)
        if made["kind"] == "ConfigMap"
        for text in made["data"].values()
    ]
    answers = tools.for_each(lambda case: refusal(found, case), cases)
    for case, said in zip(cases, answers):
        config = tools.load(tools.read(case.files[-1]))["config"]
        wrong = tools.merge(tools.load(rendered), config)
        code, words = found.check_config(json.dumps(wrong), f"wrong.{case.name}")
        if code == 0:
            yield f"{case.name}: holdfastd takes it"
        (section, keys), = config.items()
        (key,) = keys
        if key not in words:
            yield f"{case.name}: holdfastd does not name {key}: {words}"
        for major, answer in zip(tools.HELMS, said):
            if answer is None or key not in answer:
                yield f"{case.name}: helm {major} does not refuse {section}.{key}: {answer}"


def paths_of(values, schema, path=()):
    """(path, whether the values have it, whether the schema has it) of every key."""
    properties = schema.get("properties", {})
    known = values if isinstance(values, dict) else {}
    if not properties:
        return
    if schema.get("additionalProperties") is not False:
        yield (*path, "*"), True, False
    for key in known.keys() | properties.keys():
        yield (*path, key), key in known, key in properties
        yield from paths_of(known.get(key), properties.get(key, {}), (*path, key))


def schema_is_whole(found):
    """The schema has every value and no other, and lets no key pass that it does not have."""
    del found
    # Helm's own, and keys of which some are optional and have no default.
    optional = {("global",)}
    free = {"podSecurityContext", "securityContext", "resources", "migration.resources"}
    values, schema = tools.load(tools.read(VALUES)), json.loads(tools.read(SCHEMA))
    for path, valued, known in paths_of(values, schema):
        dotted = ".".join(path)
        if not known:
            yield f"{dotted}: is not in the schema"
        if not valued and path not in optional and not any(
            dotted.startswith(prefix + ".") for prefix in free
        ):
            yield f"{dotted}: is in the schema and has no value"


def reference(found):
    """README.md has the values of values.yaml and notes for the chart's version; the image that is
    named is the one that this checkout builds."""
    del found
    script = os.path.join(tools.ROOT, "scripts", "chart-reference")
    ended = subprocess.run([script, "--check"], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        yield ended.stdout + ended.stderr
    chart = tools.load(tools.read(os.path.join(tools.CHART, "Chart.yaml")))
    version = chart["version"]
    if chart["appVersion"] != project_version():
        yield f"Chart.yaml: appVersion {chart['appVersion']} is not the one of CMakeLists.txt"
    if f"\n### {version}\n" not in tools.read(README):
        yield f"README.md: has no upgrade notes for {version}"


def files(found):
    """The chart's copies of rules and dashboards are current."""
    del found
    script = os.path.join(tools.ROOT, "scripts", "chart-files")
    ended = subprocess.run([script, "--check"], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        yield ended.stdout + ended.stderr


def dashboards(found):
    """A copy of the chart with two dashboards renders them, and with none it renders none. What
    looks like a template in a dashboard is its own."""
    texts = {"first.json": '{"title": "{{ .Values.x }}"}\n', "second.json": '{"title": "second"}\n'}
    values = os.path.join(tools.CASES, "dashboards.yaml")
    with tempfile.TemporaryDirectory() as folder:
        chart = os.path.join(folder, "holdfast")
        shutil.copytree(tools.CHART, chart)
        place = os.path.join(chart, "files", "dashboards")
        shutil.rmtree(place, ignore_errors=True)
        for made in ({}, texts):
            os.makedirs(place, exist_ok=True)
            for name, text in made.items():
                with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                    file.write(text)
            for major in tools.HELMS:
                over = os.path.join(tools.HERE, "base", "postgres.yaml")
                options = ["--values", over, "--values", values]
                ended = found.run(major, "template", "demo", chart, *options)
                maps = [one for one in tools.load_all(ended.stdout) if one["kind"] == "ConfigMap"]
                data = [one["data"] for one in maps if one["metadata"]["labels"].get("dashboards")]
                if {name: text for one in data for name, text in one.items()} != made:
                    yield f"helm {major}: {data} {ended.stderr}, not {made}"


def notes_of(found, major, values):
    """The notes, by way of an object that holds them: `helm template` does not show them."""
    data = {"notes": '{{ include "holdfast.notes" . | b64enc }}'}
    shown = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}, "data": data}
    more = ["--set-json", "extraObjects=" + json.dumps([shown])]
    rendered = tools.load_all(found.template(major, values, more=more))
    (only,) = [made for made in rendered if made and made["metadata"]["name"] == "notes"]
    return base64.b64decode(only["data"]["notes"]).decode()


def notes(found):
    """The first line of the notes says what is insecure; the rest says how to reach it."""
    wanted = ("dns:///demo-holdfast-headless.agents.svc:7420", "round_robin", "Dockerfile")
    base = os.path.join(tools.HERE, "base", "postgres.yaml")
    for major in tools.HELMS:
        for files in ([], [base]):
            said = notes_of(found, major, files)
            first = said.split("\n", 1)[0]
            if not first.startswith("INSECURE: ") or "no TLS and no authentication" not in first:
                yield f"helm {major}: the notes begin with '{first}'"
            for words in wanted:
                if words not in said:
                    yield f"helm {major}: the notes do not say '{words}'"
    # helm 4 installs without a cluster when nothing shall come of it, and shows the notes.
    ended = found.run(4, "install", "demo", tools.CHART, "--dry-run=client")
    if "\nNOTES:\nINSECURE: " not in ended.stdout:
        yield f"helm 4 does not show the notes: {ended.stdout[-500:]} {ended.stderr}"


CHECKS = {
    "Lint": lint,
    "Render": render,
    "Types": types,
    "Policies": policies_hold,
    "Configuration": configuration,
    "WrongValues": wrong_values,
    "WrongConfigurations": wrong_configurations,
    "Schema": schema_is_whole,
    "Reference": reference,
    "Files": files,
    "Dashboards": dashboards,
    "Notes": notes,
    "Readme": readme_blocks.blocks_run,
    "Serves": serving.serves,
}
