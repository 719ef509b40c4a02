"""Clients of the servers that the causes are made with."""
import threading

import api

CALL_SECONDS, PAUSE_SECONDS = 12, 0.2


class Client:
    """Calls of one channel; a refusal is an answer."""

    def __init__(self, address, seconds=CALL_SECONDS, options=()):
        import grpc
        from holdfast.v1 import admin_service_pb2_grpc, session_service_pb2_grpc

        always = [("grpc.enable_retries", 0), ("grpc.max_reconnect_backoff_ms", 200)]
        self.channel = grpc.insecure_channel(address, [*always, *options])
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

        request = api.create(session, lease_ttl=Duration(seconds=ttl))
        reply = self.call(self.stub.CreateSession, request)
        return reply and reply.lease_token

    def begin(self, session, token):
        return self.call(self.stub.BeginTurn, api.begin(session, token))

    def commit(self, session, token, turn):
        data = b'"' + b"x" * 4000 + b'"'
        return self.call(self.stub.CommitTurn, api.commit(session, token, turn, data))

    def get(self, session):
        return self.call(self.stub.GetSession, api.get(session))

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
