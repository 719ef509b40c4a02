"""The commands by which a build compiles the project, from its compile_commands.json.

A command compiles one source, or a batch: a generated source that includes several of the
project's by their paths below it (cmake/batches.cmake).
"""
import functools
import json
import os
import re
import shlex

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCH = re.compile(r"/batches/([\w-]+/)+\w+\.cc$")
INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


class Command:
    """One command, as a list of words, and the file that it compiles; paths are absolute."""

    def __init__(self, entry):
        self.compiled = os.path.join(entry["directory"], entry["file"])
        self._line = entry.get("command", "")

    @functools.cached_property
    def words(self):
        return shlex.split(self._line)

    def sources(self):
        """What is compiled: the file itself, or the sources of the batch that it is."""
        if not BATCH.search(self.compiled):
            return [self.compiled]
        with open(self.compiled, encoding="utf-8") as file:
            return [os.path.join(ROOT, source) for source in INCLUDED.findall(file.read())]


def commands_in(database):
    """Every Command of the file `database`."""
    with open(database, encoding="utf-8") as file:
        return [Command(entry) for entry in json.load(file)]
