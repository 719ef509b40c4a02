"""Consistent pictures of what a running server writes: a session's directory, and tombstones.log.

docs/formats.md has the formats. What is relied upon:

- Only journals, tombstones.log and watermarks are written in place. Every other file is written
  once, before something names it; a sealed log is a journal that nothing is appended to any more,
  and may lose the zeros behind its end.
- A rotation or a compaction replaces manifest.json before it removes a file that the one before
  named. While manifest.json stays the same, and journal.log the same file, every file that they
  name is there; and a file that is open stays readable when it is removed.
- What a journal holds up to its watermark is durable and does not change. The watermark is written
  before the acknowledgement. Bytes behind it may be half written.
"""
import contextlib
import hashlib
import os
import struct
import time

from placing import Refused

QUIET_SECONDS = 2  # a file that was not written for so long is not being written
PATIENCE_SECONDS = 30  # for one session to be pictured; a rotation takes some milliseconds
PAUSE_SECONDS = 0.05

MANIFEST = "manifest.json"
JOURNAL = "journal.log"
TOMBSTONES = "tombstones.log"
WATERMARKS = "watermarks"

SLOT = struct.Struct("<4sI16sQqQQq")  # magic, crc, name, inode, birth, end, revision, time
SLOT_MAGIC = b"HWM1"
HEADER = struct.Struct("<4sBBHI")  # magic, version, type, flags, length of the payload
HEADER_BYTES = 64
FRAME_MAGIC = b"HLFJ"
NAME_OF_TOMBSTONES = bytes(16)


class Unsettled(Exception):
    """It changed while it was looked at: look again."""


def _crc_table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


CRC_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def text(data):
    """As a text of the formats, shorter than 16 KiB: its length as a number, and its bytes."""
    length = len(data)
    number = [length] if length < 128 else [length & 127 | 128, length >> 7]
    return bytes(number) + data


def read_number(data, offset):
    """The number at `offset` of a record, and the offset behind it."""
    number, shift = 0, 0
    while data[offset] >= 128:
        number |= (data[offset] & 127) << shift
        offset, shift = offset + 1, shift + 7
    return number | data[offset] << shift, offset + 1


def read_bytes(data, offset):
    """The text at `offset` of a record, as bytes, and the offset behind it."""
    length, offset = read_number(data, offset)
    return data[offset : offset + length], offset + length


def read_text(data, offset):
    found, behind = read_bytes(data, offset)
    return found.decode(), behind


def name_of(tenant, session):
    """Under which a session's watermark is kept."""
    return hashlib.sha256(text(tenant.encode()) + text(session.encode())).digest()[:16]


class Watermarks:
    """The file `watermarks` of a root, as it changes."""

    def __init__(self, root):
        self._path = os.path.join(root, WATERMARKS)
        self._slots = {}

    def find(self, name):
        """(inode, end) of a journal, or None; of tombstones.log the inode is 0."""
        try:
            with open(self._path, "rb") as file:
                found = self._at(file, self._slots.get(name), name)
                if found is None:
                    self._read(file)
                    found = self._at(file, self._slots.get(name), name)
                return found
        except FileNotFoundError:
            return None

    def _at(self, file, offset, name):
        if offset is None:
            return None
        slot = os.pread(file.fileno(), SLOT.size, offset)
        if len(slot) < SLOT.size or crc32c(slot[8:]) != int.from_bytes(slot[4:8], "little"):
            return None
        magic, _, owner, inode, _, end, _, _ = SLOT.unpack(slot)
        return (inode, end) if (magic, owner) == (SLOT_MAGIC, name) else None

    def _read(self, file):
        data = file.read()
        for offset in range(0, len(data) - SLOT.size + 1, SLOT.size):
            if data.startswith(SLOT_MAGIC, offset):
                self._slots[data[offset + 8 : offset + 24]] = offset


def frames(file, end):
    """(offset, bytes) of the payload of every frame before `end`, where the last one must end."""
    offset = 0
    while offset < end:
        header = os.pread(file.fileno(), HEADER.size, offset)
        magic, _, _, _, length = HEADER.unpack(header.ljust(HEADER.size, b"\0"))
        if magic != FRAME_MAGIC:
            raise Unsettled(f"no frame begins at byte {offset}")
        yield offset + HEADER_BYTES, length
        whole = HEADER_BYTES + length + 4
        offset += (whole + HEADER_BYTES - 1) // HEADER_BYTES * HEADER_BYTES
    if offset != end:
        raise Unsettled(f"no frame ends at byte {end}")


class Log:
    """How much of a file of frames, which a server may append to, belongs to the picture."""

    def __init__(self, file, watermark):
        """`watermark`: (inode, end) or None, looked up after the file was opened."""
        self._file, self._before = file, os.fstat(file.fileno())
        # Of a file that nothing writes all of it: its watermark may be from before a power cut.
        self._is_quiet = time.time() - self._before.st_mtime > QUIET_SECONDS
        if self._is_quiet:
            self.end = self._before.st_size
            return
        if watermark is None or watermark[0] not in (0, self._before.st_ino):
            raise Unsettled("its watermark is not written yet")
        self.end = watermark[1]
        for _ in frames(file, self.end):
            pass

    def check_copied(self):
        """To be called when `end` bytes were copied."""
        after = os.fstat(self._file.fileno())
        before = self._before
        same = (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
        if self._is_quiet and not same:
            raise Unsettled("it is being written again")


def _files_below(directory, stack):
    """path relative to the directory -> open file, of every file but manifest and journal."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, directory)
            if relative not in (MANIFEST, JOURNAL):
                found[relative] = stack.enter_context(open_file(path))
    return found


def open_file(path):
    """For reading, and never through a symbolic link; a pipe does not block."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    return os.fdopen(descriptor, "rb")


class SessionPicture:
    """A session's files, open, as they belong together."""

    def __init__(self, directory, name, watermarks, stack):
        """Raises Unsettled when the session rotates, and FileNotFoundError when a file, or the
        whole session, was removed."""
        manifest = self._read(directory, MANIFEST, stack)
        self.manifest = manifest
        journal = self._open(directory, JOURNAL, stack)
        self.journal = (journal, Log(journal, watermarks.find(name))) if journal else None
        self.others = _files_below(directory, stack)
        if self._read(directory, MANIFEST, stack) != manifest or not self._is_still(directory):
            raise Unsettled("it rotates")

    @staticmethod
    def _open(directory, name, stack):
        try:
            return stack.enter_context(open_file(os.path.join(directory, name)))
        except FileNotFoundError:
            os.stat(directory)  # a directory without it is damaged, and copied as it is
            return None

    @classmethod
    def _read(cls, directory, name, stack):
        file = cls._open(directory, name, stack)
        return file.read() if file else None

    def _is_still(self, directory):
        path = os.path.join(directory, JOURNAL)
        if self.journal is None:
            return not os.path.lexists(path)
        return os.stat(path).st_ino == os.fstat(self.journal[0].fileno()).st_ino


def patiently(what, look):
    """Calls `look` with an ExitStack until it is not Unsettled."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with contextlib.ExitStack() as stack:
                return look(stack)
        except (Unsettled, FileNotFoundError) as problem:
            if time.monotonic() > end:
                kept = f"{what} kept changing for {PATIENCE_SECONDS} s"
                raise Refused(f"{kept} ({problem}): try again when there is less to do") from None
        time.sleep(PAUSE_SECONDS)


def tombstoned(file, end):
    """(tenant, session) -> uid of the session that was created in its place, or "", of every
    deleted session before `end`; what a crash left unfinished is none."""
    found = {}
    with contextlib.suppress(Unsettled):
        for offset, length in frames(file, end):
            payload = os.pread(file.fileno(), length, offset)
            if len(payload) == length:
                tenant, behind = read_text(payload, 1)
                session, behind = read_text(payload, behind)
                skipped = {
                    "uid": read_bytes, "revision": read_number, "event": read_bytes,
                    "request": read_bytes, "removed": read_number, "generation": read_number,
                }
                for skip in skipped.values():
                    _, behind = skip(payload, behind)
                found[tenant, session] = read_text(payload, behind)[0]
    return found
