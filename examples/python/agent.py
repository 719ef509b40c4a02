"""An agent that keeps its conversation in Holdfast, and may be killed at any moment.

Every request id is made from the agent's secret, the session, the lease's epoch and the step. An
agent that is started again sends the same requests: what has been done is answered as it was, the
rest is done now. A turn of an epoch that has passed was abandoned, so it is begun anew.
"""
import argparse
import os
import signal
import sys
import threading
import time
import uuid

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from holdfast.v1 import session_pb2 as pb
from holdfast.v1 import session_service_pb2 as rpc, turns_pb2 as turns
from holdfast.v1.session_service_pb2_grpc import SessionServiceStub

LEASE_SECONDS, PATIENCE_SECONDS = 30, 60
AGAIN = set("""UNAVAILABLE STORE_UNAVAILABLE SNAPSHOT_FAILED OVERLOADED DEADLINE DEADLINE_EXCEEDED
CANCELLED INTERNAL LEASE_HELD RESOURCE_EXHAUSTED""".split())
SECRET = os.environ.get("HOLDFAST_AGENT_SECRET")  # random, and as private as the lease token
if not SECRET:
    sys.exit("agent: HOLDFAST_AGENT_SECRET is not set")
CONFIG = os.environ["HOLDFAST_SERVICE_CONFIG"]  # protos/holdfast/v1/service_config.json

def explain(status, reason):
    """(reason, seconds to wait) out of the details that every refusal carries."""
    wait, info, retry = 0.5, error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(retry):
            wait = retry.retry_delay.ToTimedelta().total_seconds()
    return reason, wait

def send(method, request):
    """Sends the request, again and again as it is while the server is away or busy."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return method(request)
        except grpc.RpcError as error:
            packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
            reason, wait = explain(status_pb2.Status.FromString(packed), error.code().name)
            if reason not in AGAIN or time.monotonic() + wait > deadline:
                raise SystemExit(f"agent: {reason}: {error.details()}") from error
            time.sleep(wait)

class Agent:
    def __init__(self, stub, session):
        self.stub, self.session, self.epoch = stub, session, 0
        lease = {"holder": "example agent", "lease_ttl": Duration(seconds=LEASE_SECONDS)}
        created = send(stub.CreateSession, rpc.CreateSessionRequest(
            request_id=self.id_of("create"), session_id=session, **lease,
            manifest=pb.Manifest(mode=pb.MODE_ASK, project_root="/home/ada/project")))
        # With the current token a resume changes nothing and returns the state of the session. Once
        # another grant has been made the create returns no token, and the resume gets a new one.
        resumed = send(stub.ResumeSession, rpc.ResumeSessionRequest(
            request_id=str(uuid.uuid4()), session_id=session, lease_token=created.lease_token,
            **lease))
        self.token, self.epoch = resumed.lease_token, resumed.session.lease.epoch
        self.done = resumed.session.message_count // 2  # turns; each adds two messages
        print(f"agent: {resumed.session.message_count} messages are there", flush=True)
        threading.Thread(target=self.heartbeat, daemon=True).start()

    def id_of(self, step):
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{SECRET}/{self.session}/{self.epoch}/{step}"))

    def heartbeat(self):
        lease = rpc.LeaseRenewal(session_id=self.session, lease_token=self.token)
        while True:
            time.sleep(LEASE_SECONDS / 3)
            try:
                renewed = send(self.stub.RenewLeases, rpc.RenewLeasesRequest(leases=[lease]))
            except SystemExit as error:
                self.stop(error)
            for failure in renewed.failures:  # the call succeeds whatever becomes of a lease
                reason, _ = explain(failure.status, "")
                if reason not in AGAIN:
                    self.stop(f"agent: the lease is lost: {reason}")

    def stop(self, why):
        print(why, file=sys.stderr, flush=True)
        os._exit(1)  # of the whole agent: nothing it does from now on would count

    def take_turn(self, number, crash):
        common = {"session_id": self.session, "lease_token": self.token}
        begun = send(self.stub.BeginTurn, turns.BeginTurnRequest(
            request_id=self.id_of(f"begin {number}"), source=pb.TURN_SOURCE_USER, **common))
        assert begun.epoch == self.epoch, "a turn of another epoch has been abandoned"
        turn = begun.turn
        intent = pb.JournalEntry(turn=turn, number=1, kind=pb.JOURNAL_KIND_TOOL_INTENT, ref="look")
        send(self.stub.AppendJournal, turns.AppendJournalRequest(entries=[intent], **common))
        if crash:
            os.kill(os.getpid(), signal.SIGKILL)
        says = [pb.Message(role=who, data=f'"{who} in turn {number}"'.encode())
                for who in ("user", "assistant")]
        send(self.stub.CommitTurn, turns.CommitTurnRequest(
            request_id=self.id_of(f"commit {number}"), turn=turn, last_entry=1, messages=says,
            outcome=pb.TURN_OUTCOME_OK, **common))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("session")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--crash-in-turn", type=int, default=0)
    options = parser.parse_args()
    # gRPC sets time limits and repeats calls, as the service config says.
    retries = ("grpc.service_config", open(CONFIG, encoding="utf-8").read())
    channel = grpc.insecure_channel(options.address, [retries])
    agent = Agent(SessionServiceStub(channel), options.session)
    for turn in range(agent.done + 1, options.turns + 1):
        agent.take_turn(turn, crash=turn == options.crash_in_turn)
    print("agent: done", flush=True)
