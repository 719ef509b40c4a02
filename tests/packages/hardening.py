"""Both programs have what cmake/hardening.cmake asks of the compiler and the linker."""
import os
import platform
import re

from programs import Folder, done, expect, run

SOFT = """
#include <cstdio>
int main() { char text[64]; return std::scanf("%63s", text) == text[0]; }
"""
SOFT_FLAGS = ["-O1", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fcf-protection=none", "-no-pie"]
SOFT_FLAGS += ["-Wl,-z,norelro", "-Wl,-z,lazy", "-Wl,-z,execstack", "-Wl,-rpath,/opt/lib"]


def problems(program):
    """What the program lacks."""
    dynamic = done(["readelf", "--wide", "--dynamic", program])
    segments = done(["readelf", "--wide", "--program-headers", program])
    symbols = done(["readelf", "--wide", "--dyn-syms", program])
    if not re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic):
        yield "is not position-independent"
    if not re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic):
        yield "resolves symbols while it runs"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "looks for libraries in directories of its own"
    if "GNU_RELRO" not in segments:
        yield "has tables that stay writable"
    if not re.search(r"GNU_STACK .* RW +0x", segments):
        yield "has a stack that may be executed"
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protectors"
    # The builds of the sanitizers check otherwise.
    if "__asan_init" not in symbols and not re.search(r"\b__\w+_chk\b", symbols):
        yield "calls no checked function of the C library"
    if platform.machine() == "x86_64":
        # The linker drops the property of the whole, because the C runtime's own start lacks it.
        code = done(["objdump", "--disassemble=main", "--no-show-raw-insn", program])
        if not re.search(r"<main>:\n[^\n]*\bendbr64\b", code):
            yield "does not mark the targets of indirect branches"


def check(build):
    for name in ("holdfastd", "holdfast"):
        found = list(problems(os.path.join(build, "bin", name)))
        expect(not found, f"{name}: {', '.join(found)}")
    with Folder() as folder:
        source, program = os.path.join(folder, "soft.cc"), os.path.join(folder, "soft")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOFT)
        compiled = run(["g++", *SOFT_FLAGS, source, "-o", program])
        expect(compiled.returncode == 0, compiled.stdout)
        found = list(problems(program))
    wanted = 8 if platform.machine() == "x86_64" else 7
    expect(len(found) == wanted, f"of a soft program only this is seen: {', '.join(found)}")
