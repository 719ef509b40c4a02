"""Upgrades that are made wrongly, and what the check must say of each."""
import api
from schema_upgrade import NEWEST_STEP, Upgrade


class StepEndsFormerServers(Upgrade):
    """The step has no line `-- oldest server`: its row says that only servers that know it may
    serve. The rollback starts no server."""

    expected = f"which servers of version {NEWEST_STEP - 1} may not serve"

    def take_step(self):
        super().take_step()
        self.servers.sql("UPDATE holdfast.migration SET oldest_server = version")


class NoStepIsTaken(Upgrade):
    """The new pods have no init container."""

    expected = f"this server needs {NEWEST_STEP}: run holdfastd migrate"

    def take_step(self):
        self.servers.migrate = lambda _: ""


class ReplacementMovesAnEpoch(Upgrade):
    """A session is taken over from its agent."""

    expected = "this token is no longer valid"

    def replace(self, program):
        super().replace(program)
        agent = self.agents.agents[0]
        agent.stub.ResumeSession(api.take_over(agent.session))


class ReplacementTakesATurnTwice(Upgrade):
    """A turn that no agent counts is in a session."""

    expected = "messages"

    def replace(self, program):
        super().replace(program)
        self.agents.agents[0].turns -= 1


MUTANTS = {
    kind.__name__: kind
    for kind in (
        StepEndsFormerServers,
        NoStepIsTaken,
        ReplacementMovesAnEpoch,
        ReplacementTakesATurnTwice,
    )
}
