"""Agents that take turns under the documented retry policy, and what each is held to."""
import json
import threading

import api
from programs import expect, wait_for

SECONDS = 120


class Agent(threading.Thread):
    """Takes turns in a session of its own until `stopping` is set."""

    def __init__(self, number, channel, stopping):
        super().__init__(daemon=True)
        from holdfast.v1.session_service_pb2_grpc import SessionServiceStub

        self.stub, self.stopping = SessionServiceStub(channel), stopping
        self.session, self.turns, self.failure = f"agent-{number}", 0, None

    def run(self):
        import grpc

        try:
            self.take_turns()
        except grpc.RpcError as error:
            self.failure = f"{self.session}, turn {self.turns + 1}: {error}"

    def take_turns(self):
        token = self.stub.CreateSession(api.create(self.session)).lease_token
        while not self.stopping.is_set():
            turn = self.stub.BeginTurn(api.begin(self.session, token)).turn
            data = str(self.turns).encode()
            self.stub.CommitTurn(api.commit(self.session, token, turn, data))
            self.turns += 1

    def check(self):
        """The session holds each of its turns once, under the epoch that it was created with."""
        found = self.stub.GetSession(api.get(self.session)).session
        expect(found.lease.epoch == 1, f"{self.session} has epoch {found.lease.epoch}")
        expect(
            found.message_count == found.last_turn == self.turns,
            f"{self.session} took {self.turns} turns and holds {found.message_count} messages",
        )


class Agents:
    """So many of them over one channel to `addresses`, from the entry of the block to its end."""

    def __init__(self, addresses, count):
        self.channel, self.stopping = connect(addresses), threading.Event()
        self.agents = [Agent(number, self.channel, self.stopping) for number in range(count)]

    def __enter__(self):
        for agent in self.agents:
            agent.start()
        return self

    def __exit__(self, *_):
        self._stop()
        self.channel.close()

    def _stop(self):
        self.stopping.set()
        for agent in self.agents:
            agent.join(SECONDS)

    def turns(self):
        return sum(agent.turns for agent in self.agents)

    def expect_no_failure(self, when):
        for agent in self.agents:
            expect(agent.failure is None, f"{when}: {agent.failure}")

    def go_on(self, turns, when):
        """Waits until each agent has taken so many turns more."""
        wanted = [(agent, agent.turns + turns) for agent in self.agents]

        def have():
            self.expect_no_failure(when)
            return all(agent.turns >= enough for agent, enough in wanted)

        wait_for(f"turns {when}", have, SECONDS)

    def finish(self):
        """Ends the turns and holds each agent's session to them."""
        self._stop()
        self.expect_no_failure("at the end")
        for agent in self.agents:
            agent.check()


def connect(addresses):
    import grpc

    with open(api.SERVICE_CONFIG, encoding="utf-8") as file:
        config = json.load(file)
    config["loadBalancingConfig"] = [{"round_robin": {}}]
    options = [("grpc.service_config", json.dumps(config)), ("grpc.enable_retries", 1)]
    return grpc.insecure_channel("ipv4:" + ",".join(addresses), options)
