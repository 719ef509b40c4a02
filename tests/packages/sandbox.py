#!/usr/bin/python3
"""Becomes the program of a unit in another root, with what the unit asks of systemd for a process:
its user, no capability and no new one, its limit of files, and its filter of system calls.

    sandbox.py ROOT UNIT FILES NAME=VALUE... -- PROGRAM ARGUMENT...

It calls the kernel by itself, because what systemd starts is started without a shell. A property of
the unit that it does not know ends it.
"""
import ctypes
import errno
import os
import resource
import sys

import seccomp  # of Debian's python3-seccomp

sys.dont_write_bytecode = True  # the project's directory stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from units import allowed, members, settings  # noqa: E402

PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 23, 24, 38
PROT_WRITE, PROT_EXEC = 2, 4
CLONE_NEW = 0x7E020000  # of every kind of namespace
AF_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}

# What this program takes care of, and what the test does around it: directories and mounts.
HERE = {"User", "Group", "NoNewPrivileges", "CapabilityBoundingSet", "AmbientCapabilities"}
HERE |= {"SystemCallFilter", "SystemCallArchitectures", "SystemCallErrorNumber", "LimitNOFILE"}
HERE |= {"MemoryDenyWriteExecute", "RestrictAddressFamilies", "RestrictNamespaces"}
HERE |= {"RestrictRealtime", "LimitCORE", "UMask"}
AROUND = {"Environment", "EnvironmentFile", "ExecStart", "StateDirectory", "StateDirectoryMode"}
AROUND |= {"RuntimeDirectory", "RuntimeDirectoryMode", "ProtectSystem", "PrivateTmp"}
# What only systemd does: starting again, and what needs namespaces of its own.
BY_SYSTEMD = {"Type", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec"}
BY_SYSTEMD |= {"ProtectHome", "PrivateDevices", "PrivateUsers", "ProtectKernelTunables"}
BY_SYSTEMD |= {"ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock"}
BY_SYSTEMD |= {"ProtectHostname", "ProtectProc", "ProcSubset", "RemoveIPC", "LockPersonality"}
BY_SYSTEMD |= {"RestrictSUIDSGID"}

libc = ctypes.CDLL(None, use_errno=True)


def prctl(*words):
    if libc.prctl(*words, *[0] * (5 - len(words))) < 0:
        raise OSError(ctypes.get_errno(), f"prctl{words}")


def properties(text):
    """Property -> its values, of the section of the service."""
    found = settings(text.partition("[Service]\n")[2].partition("\n[")[0])
    unknown = set(found) - HERE - AROUND - BY_SYSTEMD
    if unknown:
        sys.exit(f"sandbox: neither the test nor systemd applies {', '.join(sorted(unknown))}")
    return found


def filter_of(unit):
    """What the unit lets through; it holds once it is loaded."""
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    loaded = 0
    # systemd never refuses those of @default, for it must start the program.
    for call in sorted(allowed(unit) | members("@default")):
        if seccomp.resolve_syscall(seccomp.Arch(), call) < 0:
            continue  # of another architecture
        loaded += 1
        allow(rules, call, unit)
    if loaded < 100:
        sys.exit(f"sandbox: {loaded} system calls are left")
    return rules


def allow(rules, call, unit):
    """One system call, or its harmless forms where the unit forbids others."""
    masked, equal = seccomp.MASKED_EQ, seccomp.EQ

    def rule(*arguments):
        rules.add_rule(seccomp.ALLOW, call, *arguments)

    if call == "socket" and "RestrictAddressFamilies" in unit:
        for family in unit["RestrictAddressFamilies"][0].split():
            rule(seccomp.Arg(0, equal, AF_FAMILIES[family]))
    elif call == "mmap" and unit.get("MemoryDenyWriteExecute") == ["yes"]:
        rule(seccomp.Arg(2, masked, PROT_EXEC, 0))
        rule(seccomp.Arg(2, masked, PROT_EXEC | PROT_WRITE, PROT_EXEC))
    elif call == "mprotect" and unit.get("MemoryDenyWriteExecute") == ["yes"]:
        rule(seccomp.Arg(2, masked, PROT_EXEC, 0))
    elif call == "clone" and unit.get("RestrictNamespaces") == ["yes"]:
        rule(seccomp.Arg(0, masked, CLONE_NEW, 0))
    elif call == "clone3" and unit.get("RestrictNamespaces") == ["yes"]:
        # Its flags lie in memory. The C library takes clone for a call that is not there.
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), call)
    elif call in ("unshare", "setns") and unit.get("RestrictNamespaces") == ["yes"]:
        pass
    elif call == "sched_setscheduler" and unit.get("RestrictRealtime") == ["yes"]:
        rule(seccomp.Arg(1, equal, 0))  # SCHED_OTHER
    else:
        rule()


def become(unit, root):
    """The unit's user, in `root`, without rights."""
    ids = {}
    for name in ("passwd", "group"):
        with open(os.path.join(root, "etc", name), encoding="utf-8") as file:
            ids[name] = {line.split(":")[0]: line.split(":") for line in file}
    user, group = ids["passwd"][unit["User"][0]], ids["group"][unit["Group"][0]]
    os.chroot(root)
    os.chdir("/")
    os.umask(int(unit["UMask"][0], 8))
    if unit["CapabilityBoundingSet"] == [""]:
        capability = 0
        while libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
            prctl(PR_CAPBSET_DROP, capability)
            capability += 1
    os.setgroups([int(group[2])])
    os.setresgid(*[int(group[2])] * 3)
    os.setresuid(*[int(user[2])] * 3)
    if unit["NoNewPrivileges"] == ["yes"]:
        prctl(PR_SET_NO_NEW_PRIVS, 1)


def main():
    root, unit_path, files = sys.argv[1:4]
    at = sys.argv.index("--")
    environment = dict(word.split("=", 1) for word in sys.argv[4:at])
    program = sys.argv[at + 1 :]
    with open(unit_path, encoding="utf-8") as file:
        unit = properties(file.read())
    if unit["SystemCallErrorNumber"] != ["EPERM"]:
        sys.exit("sandbox: a refused system call fails otherwise than with EPERM")
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rules = filter_of(unit)
    become(unit, root)
    rules.load()
    os.execve(program[0], program, environment)


if __name__ == "__main__":
    main()
