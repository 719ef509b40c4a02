"""A laptop with the image: what README.md and docs/operations.md say serves, replays a conversation
and lists its sessions, within two minutes."""
import os

from imported import import_image
from inventory import Printed, read_document
from newcomer import IMAGE, SESSIONS, require_refused, require_sessions, with_image
from programs import expect

SECONDS = 120
PUBLISHED, OWN = "0.0.0.0:7420", "127.0.0.1:7420"
README, OPERATIONS = "README.md", "docs/operations.md"
PRINTED = Printed("walks.LongLaptop.ServesByTheImage")


def texts():
    return {README: read_document(README), OPERATIONS: read_document(OPERATIONS)}


def check_quick_start(newcomer, text):
    """Nothing is left but the volume, and its sessions are served again by the first line."""
    (block,) = PRINTED.take(README, "Quick start", "sh", "docker run", text)
    said = newcomer.type(block, SECONDS)
    newcomer.report("README.md, the image")
    require_sessions(said)
    expect("\nmessages " in said, f"no session is shown:\n{said}")
    left = newcomer.docker("container", "ls", "--all", "--quiet")
    expect(not left, f"containers are left: {left}")
    first = block.splitlines()[0]
    again = newcomer.type(f"{first}\ndocker exec holdfast holdfast session list\n", SECONDS)
    expect(all(name in again for name in SESSIONS), f"the volume does not keep them:\n{again}")


def check_confined(newcomer, text, published):
    """Under the strictest umask. `published`: clients outside of the container are served; a test
    build serves its own machine alone, so that its address is the one thing that differs."""
    words = ("docker run", "docker rm")
    serve, stop = (PRINTED.take(OPERATIONS, "In a container", "sh", w, text)[0] for w in words)
    expect(serve.count(PUBLISHED) == 1, f"the configuration does not name {PUBLISHED}")
    served = serve if published else serve.replace(PUBLISHED, OWN)
    said = newcomer.type(served, SECONDS, umask=0o077)
    newcomer.report("docs/operations.md, In a container")
    require_sessions(said)
    expect("\nserving            yes\n" in said, f"it does not say that it serves:\n{said}")
    host = newcomer.daemon.inspect("holdfast")["HostConfig"]
    kept = (host["ReadonlyRootfs"], host["CapDrop"])
    expect(kept == (True, ["ALL"]), f"read-only, and without capabilities: {kept}")
    if published:
        listed = newcomer.call(OWN, "session", "list")
        expect(all(name in listed for name in SESSIONS), f"from outside:\n{listed}")
    newcomer.type(stop, SECONDS)
    left = newcomer.docker("container", "ls", "--all", "--quiet")
    expect(not left, f"containers are left: {left}")


def check_documents(newcomer, published):
    """Both documents, each with nothing that the other one has left."""
    found = texts()
    newcomer.clean()
    check_quick_start(newcomer, found[README])
    newcomer.clean()
    check_confined(newcomer, found[OPERATIONS], published)
    newcomer.clean()


# A document, words of it, and others in their place that must be noticed.
MUTANTS = [
    (README, "--volume holdfast:/var/lib/holdfast ", ""),
    (README, "--interactive ", ""),
    (README, "show greenhouse-first\n", "show greenhouse\n"),
    (README, "holdfast:0.1.0\ndocker exec", "holdfast:0.0.9\ndocker exec"),
    (README, "\ndocker rm holdfast\n", "\n"),
    (OPERATIONS, "chmod -R a+rX etc\n", ""),
    (OPERATIONS, "$PWD/etc:/etc/holdfast:ro", "$PWD/etc:/etc/holdfastd:ro"),
    (OPERATIONS, "--read-only --cap-drop ALL", "--read-only"),
    (OPERATIONS, "exec holdfast holdfast health", "exec holdfast healthcheck"),
    (OPERATIONS, "docker stop holdfast\ndocker rm", "docker rm"),
]


def check_mutants(newcomer):
    """Each change of the text is noticed by the check of its document."""
    checks = {
        README: check_quick_start,
        OPERATIONS: lambda newcomer, text: check_confined(newcomer, text, published=False),
    }
    for name, words, others in MUTANTS:
        text = read_document(name)
        expect(words in text, f"{name} does not have `{words}`")
        change = f"{name}: `{words.strip()}` -> `{others.strip()}`"
        require_refused(change, checks[name], newcomer, text.replace(words, others, 1))
        newcomer.clean()
    print(f"figure: {len(MUTANTS)} mutants caught")


def check(build):
    """With the programs of a build."""
    programs = os.path.join(build, "bin")

    def provide(daemon, folder):
        import_image(daemon, programs, folder, IMAGE)

    with with_image(build, provide) as newcomer:
        test_build = "(test build)" in newcomer.docker("run", "--rm", IMAGE, "--version")
        check_documents(newcomer, published=not test_build)
        PRINTED.expect_all_taken()
        check_mutants(newcomer)
