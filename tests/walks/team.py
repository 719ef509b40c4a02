"""Two servers over one PostgreSQL, with traces: what docs/operations.md says of Compose starts
them, replays a conversation and has its traces at a receiver, within ten minutes."""
import json
import os
import re
import urllib.parse

import spans
import tools
from inventory import Printed, read_document
from newcomer import SESSIONS, require_refused, require_sessions
from programs import ROOT, expect, wait_for
from prometheus import fetch
from stand_in import build_stand_in

SECONDS = 600
OPERATIONS = "docs/operations.md"
PRINTED = Printed("walks.LongWalks.TakeMinutes")
ADDRESSES = ["127.0.0.1:7420", "127.0.0.1:7421"]
TRACE = re.compile(r"^trace of turn +([0-9a-f]{32})$", re.MULTILINE)
# What the trace of a turn has: the turn, the call that began it, and what that did.
SPANS = {"session.turn", "holdfast.v1.SessionService/BeginTurn", "store.Commit"}
SCRAPED = 'count(up{job="holdfast"} == 1)'
ARRIVES_SECONDS = 60  # spans within seconds, a scrape every 15


def install(newcomer, build, folder):
    """Compose as a plugin of docker's, and the replacement of images that cannot be had."""
    plugins = os.path.join(newcomer.home, ".docker", "cli-plugins")
    os.makedirs(plugins)
    os.symlink(tools.install(build), os.path.join(plugins, "docker-compose"))
    tests = os.path.join(ROOT, "tests")
    laid_over = os.path.join(tests, "walks", "stand_ins.yaml")
    newcomer.more = {"COMPOSE_FILE": f"compose.yaml:{laid_over}", "HOLDFAST_TESTS": tests}
    build_stand_in(newcomer.daemon, folder, "stand-in:1.0")
    spans.use_definitions(os.path.join(folder, "definitions"))


def block_of(text):
    (block,) = PRINTED.take(OPERATIONS, "With Compose", "sh", "", text)
    return block


def check_servers(newcomer, text):
    """The block serves; typed once more it changes nothing."""
    block = block_of(text)
    said = newcomer.type(block, SECONDS)
    newcomer.report("docs/operations.md, With Compose")
    require_sessions(said)
    traces = TRACE.findall(said)
    expect(len(traces) == 1, f"no trace of a turn is shown:\n{said}")
    for address in ADDRESSES:
        listed = newcomer.call(address, "session", "list")
        expect(all(name in listed for name in SESSIONS), f"{address} lists:\n{listed}")
    kept = json.loads(newcomer.docker("volume", "inspect", "holdfast_tempo"))[0]["Mountpoint"]
    wait_for(
        f"the spans {SPANS} of {traces[0]}",
        lambda: SPANS <= spans.names_of_trace(kept, traces[0]),
        ARRIVES_SECONDS,
    )
    print(f"report: the receiver has the trace that `session show` names: {sorted(SPANS)}")
    words = urllib.parse.urlencode({"query": SCRAPED})
    asked = f"http://127.0.0.1:9090/api/v1/query?{words}"
    wait_for("both servers to be scraped", lambda: '"2"' in fetch(asked), ARRIVES_SECONDS)
    require_sessions(newcomer.type(block, SECONDS))


MUTANTS = [
    ("""echo "$name$(openssl rand -hex 16)"; done >.env""", """echo "$name"; done >.env"""),
    ("up --detach --wait", "up --detach holdfast-c"),
    ("<../../tests/data", "<tests/data"),
    ("exec holdfast-b holdfast session show", "exec holdfast-b session show"),
]


def check(newcomer):
    newcomer.clean()
    text = read_document(OPERATIONS)
    check_servers(newcomer, text)
    PRINTED.expect_all_taken()
    newcomer.clean()
    for words, others in MUTANTS:
        expect(words in block_of(text), f"the block does not have `{words}`")
        changed = text.replace(words, others, 1)
        require_refused(f"`{words}` -> `{others}`", check_servers, newcomer, changed)
        newcomer.clean()
    print(f"figure: {len(MUTANTS)} mutants caught")
