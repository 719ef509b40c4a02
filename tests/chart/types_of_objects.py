"""Types of what the chart renders: each object becomes a typed constant, and TypeScript's compiler
refuses a field that does not exist or has another type."""
import json
import os
import shutil
import subprocess

# Group of the API -> the package that has its types.
PACKAGES = {
    "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
    "gateway.networking.k8s.io": "@kubernetes-models/gateway-api",
    "postgresql.cnpg.io": "@kubernetes-models/cloudnative-pg",
}
OPTIONS = {
    "strict": True,
    "noEmit": True,
    "skipLibCheck": True,
    "module": "esnext",
    "moduleResolution": "bundler",
    "target": "es2022",
    "types": [],
}


def source_of(objects):
    """A module with one typed constant for each object."""
    imports, lines = {}, []
    for number, found in enumerate(objects):
        group = found["apiVersion"].split("/")[0]
        package = PACKAGES.get(group, "kubernetes-models")
        name = f"{found['kind']}_{found['apiVersion'].translate(str.maketrans('/.-', '___'))}"
        imports[name] = (
            f'import type {{ I{found["kind"]} as {name} }} '
            f'from "{package}/{found["apiVersion"]}/{found["kind"]}";'
        )
        lines.append(f"export const object{number}: {name} = {json.dumps(found, indent=1)};")
    return "\n".join([*sorted(imports.values()), *lines, ""])


def compile_all(tools, folder, sources):
    """What the compiler says of the sources, by name; empty when it has nothing to say."""
    target = os.path.join(tools.folder, folder)
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for name, text in sources.items():
        with open(os.path.join(target, f"{name}.ts"), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(target, "tsconfig.json"), "w", encoding="utf-8") as file:
        json.dump({"compilerOptions": OPTIONS, "include": ["*.ts"]}, file)
    compiler = os.path.join(tools.folder, "node_modules", "typescript", "bin", "tsc")
    ended = subprocess.run(
        ["node", compiler, "--project", target, "--pretty", "false"],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0 and not ended.stdout:
        raise SystemExit(f"chart: the compiler ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout
