"""Clients of the servers that the causes are made with."""
import os
import sys
import threading
import uuid

CALL_SECONDS, PAUSE_SECONDS = 12, 0.2


class Client:
    """Calls of one channel; a refusal is an answer."""

    def __init__(self, address, seconds=CALL_SECONDS):
        import grpc
        from holdfast.v1 import admin_service_pb2_grpc, session_service_pb2_grpc

        self.channel = grpc.insecure_channel(
            address, [("grpc.enable_retries", 0), ("grpc.max_reconnect_backoff_ms", 200)]
        )
        self.refused, self.seconds = grpc.RpcError, seconds
        self.stub = session_service_pb2_grpc.SessionServiceStub(self.channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self.channel)

    def call(self, method, request):
        """The reply, or None of a call that was refused."""
        try:
            return method(request, timeout=self.seconds)
        except self.refused:
            return None

    def create(self, session, ttl=60):
        from google.protobuf.duration_pb2 import Duration
        from holdfast.v1 import session_pb2, session_service_pb2

        request = session_service_pb2.CreateSessionRequest(
            request_id=str(uuid.uuid4()),
            session_id=session,
            holder="test",
            lease_ttl=Duration(seconds=ttl),
            manifest=session_pb2.Manifest(mode=session_pb2.MODE_ASK, project_root="/project"),
        )
        reply = self.call(self.stub.CreateSession, request)
        return reply and reply.lease_token

    def begin(self, session, token):
        from holdfast.v1 import session_pb2, turns_pb2

        request = turns_pb2.BeginTurnRequest(
            request_id=str(uuid.uuid4()),
            session_id=session,
            lease_token=token,
            source=session_pb2.TURN_SOURCE_USER,
        )
        return self.call(self.stub.BeginTurn, request)

    def commit(self, session, token, turn):
        from holdfast.v1 import session_pb2, turns_pb2

        request = turns_pb2.CommitTurnRequest(
            request_id=str(uuid.uuid4()),
            session_id=session,
            lease_token=token,
            turn=turn,
            outcome=session_pb2.TURN_OUTCOME_OK,
            messages=[session_pb2.Message(role="user", data=b'"' + b"x" * 4000 + b'"')],
        )
        return self.call(self.stub.CommitTurn, request)

    def get(self, session):
        from holdfast.v1 import session_service_pb2

        request = session_service_pb2.GetSessionRequest(session_id=session)
        return self.call(self.stub.GetSession, request)

    def take_turns(self, session, stop, pause):
        """Turn after turn, whatever is refused, until `stop` is set."""
        token = None
        while not stop.is_set():
            token = token or self.create(session, 3600)
            begun = token and self.begin(session, token)
            if begun:
                while not stop.is_set() and not self.commit(session, token, begun.turn):
                    stop.wait(pause)
            stop.wait(pause)


class Agents:
    """Clients that take turns, each in a session of its own, until the end."""

    def __init__(self, address, count, seconds=CALL_SECONDS):
        self.stop = threading.Event()
        self.sessions = [f"agent-{number}" for number in range(count)]
        self.threads = [
            threading.Thread(
                target=Client(address, seconds).take_turns, args=(session, self.stop, PAUSE_SECONDS)
            )
            for session in self.sessions
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def generate_stubs(folder):
    """The stubs of the API, for Python."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.join(here, "..", "docs"))
    import examples

    examples.generate_python(folder)
    sys.path.insert(0, folder)
