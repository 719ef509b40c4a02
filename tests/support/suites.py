#!/usr/bin/env python3
"""Writes what ctest reads of one test program: an entry for each suite whose cases need no process
of their own. A large suite is cut into parts, each of cases with the same last parameter.
FILTER chooses whole suites.

    tests/support/suites.py PROGRAM OUTPUT AREA SECONDS DIRECTORY ENVIRONMENT FILTER

Entries are called AREA.SUITE, or AREA.SUITE#PART, and labelled with the area and `suite`.
"""
import collections
import os
import subprocess
import sys

MOST_CASES = 120  # of one entry
LIST_SECONDS = 60


def cases_of(listed):
    """Suite -> its cases, of what --gtest_list_tests prints."""
    suites = collections.defaultdict(list)
    suite = None
    for line in listed.splitlines():
        word = line.split("#")[0].rstrip()
        if line.startswith("  "):
            suites[suite].append(word.strip())
        elif word.endswith("."):
            suite = word[:-1]
    return suites


def parts_of(cases):
    """The cases in lists of at most MOST_CASES, those of one parameter together."""
    if len(cases) <= MOST_CASES:
        return [cases]
    by_parameter = collections.defaultdict(list)
    for case in cases:
        by_parameter[case.rpartition("/")[2]].append(case)
    parts = []
    for same in by_parameter.values():
        count = -(-len(same) // MOST_CASES)
        size = -(-len(same) // count)
        parts += [same[at : at + size] for at in range(0, len(same), size)]
    return parts


def entries_of(area, suites):
    """Name of an entry -> the filter for its cases."""
    entries = {}
    for suite, cases in suites.items():
        parts = parts_of(cases)
        for number, part in enumerate(parts, 1):
            name = f"{area}.{suite}" + (f"#{number}" if len(parts) > 1 else "")
            whole = f"{suite}.*" if len(parts) == 1 else ":".join(f"{suite}.{c}" for c in part)
            entries[name] = whole
    return entries


def quoted(word):
    return f"[=[{word}]=]"


def main():
    program, output, area, seconds, directory, environment, chosen = sys.argv[1:]
    listing = [program, "--gtest_list_tests", f"--gtest_filter={chosen}"]
    listed = subprocess.run(
        listing, cwd=directory, capture_output=True, text=True, check=True, timeout=LIST_SECONDS
    ).stdout
    lines = []
    for name, cases in entries_of(area, cases_of(listed)).items():
        command = f"{quoted(program)} {quoted('--gtest_filter=' + cases)}"
        lines.append(f"add_test({quoted(name)} {command})")
        lines.append(
            f"set_tests_properties({quoted(name)} PROPERTIES LABELS [=[{area};suite]=] "
            f"TIMEOUT {seconds} WORKING_DIRECTORY {quoted(directory)} "
            f"ENVIRONMENT {quoted(environment)})"
        )
    with open(f"{output}.new", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(f"{output}.new", output)


if __name__ == "__main__":
    main()
