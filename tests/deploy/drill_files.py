"""Backup and restore of a store of files by deploy/backup/files.py, under traffic."""
import os
import shutil
import sys
import time

import api
from programs import CONVERSATION, ROOT, Folder, Server, done, expect, run
from traffic import Traffic, expect_restored, reason, within_objective

SCRIPT = [sys.executable, os.path.join(ROOT, "deploy", "backup", "files.py")]
BACKUPS = 3
DOOMED = "greenhouse-doomed"
REUSED = "greenhouse-reused"
TAKEN = "greenhouse-taken"


def replay(server, name, repeat=1):
    """A small recording, into sessions of its own."""
    words = ["replay", "--run", name, "--parallel", "8", "--repeat", str(repeat), CONVERSATION]
    done([server.cli, "--address", server.address, *words])


def adopt(build, server):
    done([os.path.join(build, "bin", "holdfastd"), "store", "adopt", "--config", server.config])


def use_stubs(folder):
    stubs = os.path.join(folder, "stubs")
    api.generate_stubs(stubs)
    sys.path.insert(1, stubs)


def reuse(server, session):
    """Deletes a session, and creates another one in its place; its uid."""
    import grpc
    from holdfast.v1 import session_service_pb2_grpc

    uid = server.answer("session", "show", session)["session_uid"]
    server.answer("session", "delete", session)
    with grpc.insecure_channel(server.address) as channel:
        stub = session_service_pb2_grpc.SessionServiceStub(channel)
        created = stub.CreateSession(api.create(session, reuse_deleted=uid))
    return created.session.session_uid


def back_up_under_traffic(server, traffic, folder):
    """The last of some backups, and what was acknowledged before it began."""
    for number in range(BACKUPS):
        path = os.path.join(folder, f"backup-{number}")
        before = traffic.acknowledged()
        print(done(SCRIPT + ["backup", server.root, path]), end="")
        traffic.await_acknowledged(30)
    return path, before


def check(build):
    """Traffic, backups while the server runs, the server and its root gone, restore, refused until
    adopted: what was acknowledged before the backup is there once, and traffic goes on."""
    with Folder() as folder:
        root = os.path.join(folder, "root")
        server = Server(build, folder, "first", root=root)
        server.root = root
        with server, Traffic(server.cli, folder) as traffic:
            server.start()
            replay(server, "doomed", repeat=20)  # more than a listing shows if nothing is said
            replay(server, "taken")
            replay(server, "reused")
            use_stubs(folder)
            done([server.cli, "--address", server.address, "session", "delete", DOOMED])
            reused = reuse(server, REUSED)
            traffic.start([server.address])
            traffic.await_acknowledged(200)
            backup, before = back_up_under_traffic(server, traffic, folder)
            token = server.answer("session", "resume", TAKEN)["lease_token"]
            traffic.await_acknowledged(10)
            server.kill()
            traffic.kill()
            known = traffic.acknowledged()
            shutil.rmtree(root)

            programs = os.path.join(build, "bin")
            print(done(SCRIPT + ["check", backup, "--programs", programs]), end="")
            began = time.monotonic()
            done(SCRIPT + ["restore", backup, root])
            server.expect_refused("copied or restored from a backup")
            adopt(build, server)
            server.start()
            within_objective(began)
            expect(server.answer("health")["incarnation"] == "2", "adopting raises the incarnation")
            behind = expect_restored(server, before, known)
            expect(behind > 0, "no session lost anything: the drill shows nothing")
            deleted = server.client("--output", "json", "session", "show", DOOMED)
            expect(reason(deleted) == "TOMBSTONED", deleted.stdout)
            shown = server.answer("session", "show", REUSED)
            expect(shown["session_uid"] == reused, f"{shown}")
            write = ["session", "close", TAKEN, "--token", token]
            ahead = server.client("--output", "json", *write)
            expect(reason(ahead) == "REVISION_AHEAD", ahead.stdout)
            traffic.finish([server.address])
            print(f"{len(before)} sessions restored, {behind} of them behind what clients know")
            expect(server.stop() == 0, "the server does not end in order")


def check_wholeness(build):
    """Nothing is overwritten, and a backup that is not what was written is not restored."""
    with Folder() as folder:
        root, backup = os.path.join(folder, "root"), os.path.join(folder, "backup")
        with Server(build, folder, "first", root=root) as server:
            server.start()
            replay(server, "whole")
            server.stop()
        done(SCRIPT + ["backup", root, backup])
        target = os.path.join(folder, "target")
        refused(["restore", backup, root], "is there already")
        journal = os.path.join(backup, "root", "t", "default", "greenhouse-whole", "journal.log")
        with open(journal, "r+b") as file:
            file.seek(1000)
            byte = file.read(1)[0]
            file.seek(1000)
            file.write(bytes([byte ^ 1]))
        refused(["restore", backup, target], "greenhouse-whole/journal.log is not what was written")
        os.remove(journal)
        refused(["restore", backup, target], "greenhouse-whole/journal.log is missing or new")
        os.remove(os.path.join(backup, "BACKUP"))
        refused(["restore", backup, target], "no finished backup")
        expect(not os.path.exists(target), "something was restored")
        refused(["backup", root, backup], "is there already")
        refused(["backup", root, os.path.join(root, "t", "backup")], "is in the root")
        refused(["backup", folder, target], "is no root")
        open(os.path.join(root, "novelty"), "wb").close()
        refused(["backup", root, target], "does not know")
        left = [name for name in os.listdir(folder) if "unfinished" in name]
        expect(not left, f"{left} is left behind")


def refused(words, text):
    said = run(SCRIPT + words)
    expect(said.returncode == 1 and text in said.stdout, f"{words}: {said.stdout}")


def check_quiet(build):
    """After a power cut the watermarks may be older than the journals: what is not being written is
    copied whole. A root whose server did not end in order is refused, for its write-ahead log may
    have what its journals lack."""
    with Folder() as folder:
        root, backup = os.path.join(folder, "root"), os.path.join(folder, "backup")
        with Server(build, folder, "first", root=root) as server:
            server.start()
            replay(server, "early")
            old = os.path.join(folder, "watermarks")
            shutil.copy(os.path.join(root, "watermarks"), old)
            taken = server.answer("session", "resume", "greenhouse-early", "--force", "drill")
            server.kill()
            refused(["backup", root, backup], "did not end in order: start it once")
            server.start()
            server.stop()
        shutil.copy(old, os.path.join(root, "watermarks"))
        for path, _, names in os.walk(os.path.join(root, "t")):
            for name in names:
                os.utime(os.path.join(path, name), (0, 0))
        done(SCRIPT + ["backup", root, backup])
        target = os.path.join(folder, "target")
        done(SCRIPT + ["restore", backup, target])
        with Server(build, folder, "second", root=target) as server:
            adopt(build, server)
            shown = server.start().answer("session", "show", "greenhouse-early")
            found, left = int(shown["revision"]), int(taken["session"]["revision"])
            expect(found == left, f"revision {found}, not {left}")


def check_volume(build):
    """A volume that is attached elsewhere, after its server was killed, is the same root: it is
    served without adoption, and nothing is missing."""
    with Folder() as folder:
        image = os.path.join(folder, "volume")
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        done(["/sbin/mkfs.ext4", "-q", image])
        for name in ("here", "there"):
            place = os.path.join(folder, name)
            os.mkdir(place)
            done(["mount", "-o", "loop", image, place])
            try:
                root = os.path.join(place, "sessions")
                with Server(build, folder, name, root=root) as server:
                    server.start()
                    if name == "here":
                        replay(server, "moved")
                    incarnation = server.answer("health")["incarnation"]
                    expect(incarnation == "1", f"its incarnation is {incarnation}")
                    words = ["replay", "--run", "moved", "--verify-only", CONVERSATION]
                    done([server.cli, "--address", server.address, *words])
            finally:
                done(["umount", place])
