#!/usr/bin/env python3
"""Backup and restore of a store of files, also while its server runs. Run it as the server's user;
backup and restore, which keep the owner, also as root.

  files.py backup ROOT BACKUP      copies the root into the new directory BACKUP
  files.py restore BACKUP ROOT     makes the new root ROOT of a backup; nothing is overwritten
  files.py check BACKUP --programs DIR
                                   restores into a scratch directory, adopts, serves and looks at
                                   every session; needs holdfastd and holdfast in DIR

A backup holds every change that was acknowledged before it began (with `durability: interval`:
that was synced). BACKUP and ROOT appear when they are whole; what a killed run leaves behind is
called .NAME.unfinished.* and can be removed. A restored root is refused until it is adopted:
docs/operations.md, "Backup", says when that is right.
"""
import argparse
import fcntl
import hashlib
import json
import os
import stat
import sys
import time

sys.dont_write_bytecode = True  # of the modules beside it

import checking
from pictures import JOURNAL, MANIFEST, NAME_OF_TOMBSTONES, TOMBSTONES, WATERMARKS
from pictures import Log, SessionPicture, Unsettled, Watermarks
from pictures import tombstoned, name_of, open_file, patiently
from placing import Refused, Staging, main, read_label, write_label

KIND = "files"
STORE = "STORE"
STORE_FORMAT = 9
SESSIONS = "t"
LOCK = "lock"
# What a start makes anew; while a server runs, journals have all that the write-ahead log has.
LEFT_OUT = {"index", LOCK, "tmp", "wal", "lost+found"}
KNOWN = LEFT_OUT | {STORE, TOMBSTONES, WATERMARKS, SESSIONS}
PIECE = 1 << 20


def read_store(root):
    """The text of the file STORE, and what it says."""
    try:
        with open(os.path.join(root, STORE), "rb") as file:
            text = file.read()
            facts = json.loads(text)
    except FileNotFoundError:
        raise Refused(f"{root} is no root: it has no file {STORE}") from None
    except ValueError:
        raise Refused(f"{root}/{STORE} is damaged: restore it from a backup first") from None
    if facts.get("format") != STORE_FORMAT:
        found = facts.get("format")
        raise Refused(f"{root} has format {found}, and this script is for format {STORE_FORMAT}")
    return text, facts


def is_served(root):
    """Whether a server holds the root's lock."""
    try:
        with open(os.path.join(root, LOCK), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


class Copy:
    """A tree that is being written, with the size and the digest of each of its files."""

    def __init__(self, folder):
        self.folder, self.files = folder, {}
        os.makedirs(os.path.join(folder, SESSIONS), 0o700)

    def add(self, path, source, limit=None):
        """Copies an open file, `limit` bytes of it or all, with its owner."""
        target = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        facts = os.fstat(source.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise Refused(f"{source.name} is no regular file: move it out of the root")
        digest, size = hashlib.sha256(), 0
        with open(target, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            while limit is None or size < limit:
                piece = source.read(PIECE if limit is None else min(PIECE, limit - size))
                if not piece:
                    break
                file.write(piece)
                digest.update(piece)
                size += len(piece)
        self.files[path] = {"bytes": size, "sha256": digest.hexdigest()}
        self._own(target, facts)

    def add_bytes(self, path, data):
        target = os.path.join(self.folder, path)
        with open(target, "xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
        self.files[path] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def session_uid(self, key):
        """Which session of this id was copied; None when that cannot be read."""
        path = os.path.join(self.folder, SESSIONS, *key, MANIFEST)
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)["holdfast"]["session_uid"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remove(self, folder):
        """Of a session that was copied, everything."""
        for path in [path for path in self.files if path.startswith(folder + "/")]:
            os.remove(os.path.join(self.folder, path))
            del self.files[path]
        for path, _, _ in os.walk(os.path.join(self.folder, folder), topdown=False):
            os.rmdir(path)

    def own_folders(self, facts):
        """Gives every directory to the owner of the root."""
        for path, _, _ in os.walk(self.folder):
            self._own(path, facts)

    @staticmethod
    def _own(path, facts):
        if os.geteuid() == 0:
            os.chown(path, facts.st_uid, facts.st_gid)


def copy_picture(copy, folder, picture):
    if picture.manifest is not None:
        os.makedirs(os.path.join(copy.folder, folder), 0o700, exist_ok=True)
        copy.add_bytes(os.path.join(folder, MANIFEST), picture.manifest)
    if picture.journal is not None:
        file, log = picture.journal
        copy.add(os.path.join(folder, JOURNAL), file, log.end)
        log.check_copied()
    for path, file in sorted(picture.others.items()):
        copy.add(os.path.join(folder, path), file)


def copy_session(copy, root, key, watermarks):
    """False when the session was deleted meanwhile."""
    folder = os.path.join(SESSIONS, *key)
    directory = os.path.join(root, folder)

    def look(stack):
        try:
            copy_picture(copy, folder, SessionPicture(directory, name_of(*key), watermarks, stack))
        except (Unsettled, FileNotFoundError):
            copy.remove(folder)
            if os.path.lexists(directory):
                raise
            return False
        return True

    return patiently(directory, look)


def copy_tombstones(copy, root, watermarks):
    """The deleted sessions, and which ones were created in their places."""

    def look(stack):
        file = stack.enter_context(open_file(os.path.join(root, TOMBSTONES)))
        log = Log(file, watermarks.find(NAME_OF_TOMBSTONES))
        copy.add(TOMBSTONES, file, log.end)
        log.check_copied()
        return tombstoned(file, log.end)

    return patiently(os.path.join(root, TOMBSTONES), look)


def sessions_of(root):
    """(tenant, session) of every directory of a session."""
    top = os.path.join(root, SESSIONS)
    for tenant in sorted(os.listdir(top)):
        for session in sorted(os.listdir(os.path.join(top, tenant))):
            yield tenant, session


def backup(arguments):
    root, began = arguments.root, time.time()
    text, facts = read_store(root)
    strange = sorted(set(os.listdir(root)) - KNOWN)
    if strange:
        raise Refused(f"{root} holds {strange}, which this script does not know: use the newer one")
    if os.path.realpath(arguments.backup).startswith(os.path.realpath(root) + os.sep):
        raise Refused(f"{arguments.backup} is in the root: name a directory elsewhere")
    if not facts.get("clean") and not is_served(root):
        raise Refused(
            f"the server of {root} did not end in order: start it once, so that it writes to the "
            "sessions what its write-ahead log has"
        )
    with Staging(arguments.backup) as staging:
        copy = Copy(os.path.join(staging.path, "root"))
        watermarks = Watermarks(root)
        copied = {key for key in sessions_of(root) if copy_session(copy, root, key, watermarks)}
        # Last, so that a session that was deleted meanwhile stays deleted.
        tombstones = copy_tombstones(copy, root, watermarks)
        for key in tombstones.keys() & copied:
            if tombstones[key] and tombstones[key] == copy.session_uid(key):
                continue
            copy.remove(os.path.join(SESSIONS, *key))
            copied.remove(key)
        # They keep the store's time, which must not be before the times in the copied files.
        if os.path.exists(os.path.join(root, WATERMARKS)):
            with open_file(os.path.join(root, WATERMARKS)) as file:
                copy.add(WATERMARKS, file)
        if read_store(root)[0] != text:
            raise Refused("the server was started, stopped or adopted meanwhile: run it again")
        copy.add_bytes(STORE, text)
        copy.own_folders(os.stat(root))
        label = {"kind": KIND, "began": began, "ended": time.time(), "sessions": len(copied)}
        label |= {"store_id": facts["store_id"], "incarnation": facts["incarnation"]}
        write_label(staging.path, label | {"files": copy.files})
        staging.place()
    size = sum(row["bytes"] for row in copy.files.values())
    print(f"backup of {len(copied)} sessions, {size} bytes, in {time.time() - began:.1f} s")


def restore_into(folder, root):
    """The label of the backup in `folder`, whose root is `root` now."""
    label = read_label(folder, KIND)
    source = os.path.join(folder, "root")
    found = {
        os.path.relpath(os.path.join(path, name), source)
        for path, _, names in os.walk(source)
        for name in names
    }
    differing = found.symmetric_difference(label["files"])
    if differing:
        raise Refused(f"{folder} is not what was written: {sorted(differing)[0]} is missing or new")
    with Staging(root) as staging:
        copy = Copy(staging.path)
        for path, facts in label["files"].items():
            with open_file(os.path.join(source, path)) as file:
                copy.add(path, file)
            if copy.files[path] != facts:
                raise Refused(f"{source}/{path} is not what was written: use another backup")
        copy.own_folders(os.stat(source))
        staging.place()
    return label


def restore(arguments):
    began = time.time()
    label = restore_into(arguments.backup, arguments.root)
    print(f"restored {label['sessions']} sessions in {time.time() - began:.1f} s")
    print("It is refused until it is adopted: two servers could go on from the same sessions.")
    print("When no other one will serve them: holdfastd store adopt --config FILE")


def check(arguments):
    checking.check(arguments, lambda root: restore_into(arguments.backup, root))


def arguments_of(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for act, names in ((backup, ("root", "backup")), (restore, ("backup", "root"))):
        command = commands.add_parser(act.__name__, help=act.__doc__)
        for name in names:
            command.add_argument(name, metavar=name.upper())
        command.set_defaults(act=act)
    command = commands.add_parser("check")
    command.add_argument("backup", metavar="BACKUP")
    command.add_argument("--programs", required=True, metavar="DIR")
    command.add_argument("--scratch", metavar="DIR", help="where there is room for a copy")
    command.add_argument("--timeout", type=int, default=600, metavar="SECONDS")
    command.set_defaults(act=check)
    return parser.parse_args(words)


if __name__ == "__main__":
    chosen = arguments_of(sys.argv[1:])
    sys.exit(main("files.py", lambda: chosen.act(chosen)))
