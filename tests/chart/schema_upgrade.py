"""The acts of an upgrade across a step of the schema, and the order that they come in."""
import os

from agents import Agents
from programs import FORMER, PRESENT, ROOT, expect

SERVERS, AGENTS, TURNS = 3, 6, 20
NAMES = {FORMER: "former", PRESENT: "present"}
NEWEST_STEP = len(os.listdir(os.path.join(ROOT, "store-postgres", "schema")))


class Upgrade:
    """Of `servers`, at which `agents` take turns."""

    def __init__(self, servers, agents):
        self.servers, self.agents, self.replaced = servers, agents, 0

    def take_step(self):
        """The init container of the first new pod, while every server is a former one."""
        said = self.servers.migrate(PRESENT)
        expect(", 1 step taken" in said, f"the migration says {said}")
        expect_step(self.servers, NEWEST_STEP)

    def replace(self, program):
        self.servers.replace(program)
        self.replaced += 1


def expect_step(servers, step):
    found = servers.sql("SELECT max(version) FROM holdfast.migration")
    expect(found == str(step), f"the database is at step {found}, and not at {step}")


def upgrade(kind, servers, plan):
    """Makes an upgrade of this kind from former servers, and replaces them along the plan; what
    there is to say of it."""
    servers.start_all(SERVERS, FORMER)
    expect_step(servers, NEWEST_STEP - 1)
    with Agents(servers.addresses(), AGENTS) as agents:
        acts = kind(servers, agents)
        agents.go_on(TURNS, "at former servers over their schema")
        acts.take_step()
        agents.go_on(TURNS, "at former servers over the newest schema")
        for program, count in plan:
            for _ in range(count):
                acts.replace(program)
                agents.go_on(TURNS, f"after {acts.replaced} replacements")
            agents.go_on(TURNS, f"with the {NAMES[program]} program")
        agents.finish()
    expect_step(servers, NEWEST_STEP)
    return (
        f"step {NEWEST_STEP} under traffic and {acts.replaced} replacements over it, there and back"
        f" again: {agents.turns()} turns of {AGENTS} agents, no call failed, no epoch moved"
    )
