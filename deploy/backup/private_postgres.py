"""A PostgreSQL over a data directory that nothing else can reach, so that a restored store is
adopted before a server uses it."""
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time

from placing import Refused

PAUSE_SECONDS = 0.05
STOP_SECONDS = 300
PR_SET_PDEATHSIG = 1

# Nothing of the original's configuration counts: it may lie elsewhere, wait for standbys, or write
# to the archive of the original. It syncs nothing, because the directory counts only when all of it
# is synced at the end.
SETTINGS = {
    "fsync": "off",
    "listen_addresses": "",
    "archive_mode": "off",
    "synchronous_standby_names": "",
    "synchronous_commit": "on",
    "primary_conninfo": "",
    "ssl": "off",
    "logging_collector": "off",
    "shared_preload_libraries": "",
    "cluster_name": "holdfast-restore",
}


def end_with_parent():
    """In the child: SIGQUIT when this script is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


class PrivatePostgres:
    """Serves from `with` on, when recovery is through, and is stopped in order at its end.

    `folder` is the directory of its socket, which its own user alone may enter."""

    def __init__(self, program, data, timeout):
        self._program, self._data, self._timeout = program, data, timeout
        self._process = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast.", dir="/tmp")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
        return path

    def _start(self):
        settings = SETTINGS | {
            "config_file": self._file("postgresql.conf", ""),
            "hba_file": self._file("pg_hba.conf", "local all all trust\n"),
            "ident_file": self._file("pg_ident.conf", ""),
            "unix_socket_directories": self.folder,
        }
        words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        log = os.path.join(self.folder, "log")
        with open(log, "xb") as file:
            self._process = subprocess.Popen(
                [self._program, "-D", self._data, *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                preexec_fn=end_with_parent,
            )
        end = time.monotonic() + self._timeout
        while not self._serves():
            if self._process.poll() is not None:
                with open(log, encoding="utf-8", errors="replace") as file:
                    raise Refused(f"PostgreSQL does not start: {file.read()[-2000:]}")
            if time.monotonic() > end:
                raise Refused(f"PostgreSQL does not serve within {self._timeout} s: see --timeout")
            time.sleep(PAUSE_SECONDS)

    def _serves(self):
        try:
            with open(os.path.join(self._data, "postmaster.pid"), encoding="utf-8") as file:
                lines = file.read().split("\n")
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self._process.pid) and "ready" in lines[7]

    def __exit__(self, *_):
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
