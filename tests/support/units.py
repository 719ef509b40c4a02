"""What a systemd unit says, and what its filter of system calls lets through."""
import re

from programs import done, expect


def settings(text):
    """key -> its values, of the unit's every section."""
    found = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found.setdefault(key, []).append(value)
    return found


def members(name):
    """The system calls of a set, of those that are in it too, and of a call itself."""
    if not name.startswith("@"):
        return {name}
    lines = done(["systemd-analyze", "syscall-filter", name]).splitlines()
    words = [line.strip() for line in lines[1:] if not line.strip().startswith("#")]
    return set().union(*(members(word) for word in words if word))


def allowed(unit):
    """What SystemCallFilter leaves, of the settings of a unit."""
    calls = set()
    for line in unit["SystemCallFilter"]:
        expect(calls or not line.startswith("~"), "the filter must begin with an allow list")
        named = set().union(*(members(word) for word in line.lstrip("~").split()))
        calls = calls - named if line.startswith("~") else calls | named
    return calls
