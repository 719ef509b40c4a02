"""The session service of an agent development kit: events and state by scope.

A session is one of kind OPEN: its events are its messages, and its own state is a slot. State of
the prefixes `app:` and `user:` belongs to sessions of the application and of the user, with an item
for each key; that of `temp:` is never sent. Any number of processes on any number of servers may
use one session.
"""
import json
import uuid

import grpc
from holdfast.v1 import item_service_pb2_grpc, items_pb2 as items, session_pb2 as pb
from holdfast.v1 import session_reads_pb2 as reads, snapshots_pb2 as snapshots
from holdfast.v1 import session_lists_pb2 as lists, store_service_pb2_grpc
from holdfast.v1 import session_service_pb2 as rpc, session_service_pb2_grpc

APP, USER, TEMP = "app:", "user:", "temp:"
STATE = "state"  # the collection of the shared state, and the owner of the slot
ATTEMPTS = 100


class StaleSession(Exception):
    """The session has events that the caller has not seen: read it, and decide again."""


class Session:
    def __init__(self, app, user, session_id):
        self.app, self.user, self.id = app, user, session_id
        self.revision, self.events, self.state = 0, [], {}


class SessionService:
    def __init__(self, channel):
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.items = item_service_pb2_grpc.ItemServiceStub(channel)
        self.store = store_service_pb2_grpc.StoreServiceStub(channel)

    def create_session(self, app, user, state=None, session_id=None):
        session = Session(app, user, session_id or str(uuid.uuid4()))
        own = self._put_shared(session, state or {})
        created = self.sessions.CreateSession(self._creation(
            request_id=str(uuid.uuid4()),
            session_id=session.id,
            group=f"adk/{app}/{user}",
            slots=[self._slot(own)],
        ))
        session.revision = created.session.revision
        session.state = dict(state or {})
        return session

    def get_session(self, app, user, session_id, recent_events=0):
        """The session with its events, the newest alone where a number is given; or None."""
        session = Session(app, user, session_id)
        request = reads.ReadSessionRequest(
            session_id=session_id, tail_messages=recent_events, owners=[STATE],
            parts=[reads.SESSION_PART_MESSAGES, reads.SESSION_PART_SLOTS],
        )
        data = b""
        try:
            for response in self.sessions.ReadSession(request):
                for piece in response.pieces:
                    if piece.HasField("position"):
                        session.revision = piece.position.revision
                        continue
                    data += piece.message.data or piece.slot.data
                    if len(data) < piece.total_bytes:
                        continue
                    if piece.HasField("message"):
                        session.events.append(json.loads(data))
                    else:
                        session.state.update(json.loads(data))
                    data = b""
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return None
            raise
        for prefix in (APP, USER):
            for key, (value, _) in self._read_shared(self._owner(session, prefix)).items():
                session.state[prefix + key] = value
        return session

    def list_sessions(self, app, user):
        request, found = lists.ListSessionsRequest(group=f"adk/{app}/{user}"), []
        while True:
            page = self.sessions.ListSessions(request)
            found += [row.session_id for row in page.sessions]
            request.page_token = page.next_page_token
            if not request.page_token:
                return found

    def append_event(self, session, event, state_delta=None):
        """Adds an event and what it changes. StaleSession where another event came before it."""
        delta = {k: v for k, v in (state_delta or {}).items() if not k.startswith(TEMP)}
        own = self._put_shared(session, delta)
        state = {k: v for k, v in session.state.items() if not k.startswith((APP, USER, TEMP))}
        state.update(own)
        message = pb.Message(
            role=event.get("author", "agent"),
            content_type="application/json",
            data=json.dumps(event).encode(),
        )
        try:
            written = self.store.WriteSnapshot(snapshots.WriteSnapshotRequest(
                request_id=str(uuid.uuid4()),
                session_id=session.id,
                expected_revision=session.revision,
                messages=[message],
                slots=[self._slot(state)] if own else [],
            ))
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.ABORTED:
                raise StaleSession(session.id) from error
            raise
        session.revision = written.revision
        session.events.append(event)
        session.state.update(state_delta or {})

    def update_user_state(self, app, user, key, change):
        """Sets `key` to what `change` makes of its value: no other writer's is lost."""
        owner = self._owner(Session(app, user, ""), USER)
        for _ in range(ATTEMPTS):
            value, version = self._read_shared(owner, [key.encode()]).get(key, (None, 0))
            put = items.ItemPut(
                item=items.Item(collection=STATE, key=key.encode(),
                                data=json.dumps(change(value)).encode()),
                condition=items.PUT_CONDITION_IF_VERSION,
                expected_version=version,
            )
            try:
                return self._put(owner, [put])
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.ABORTED:
                    raise
        raise StaleSession(owner)

    def delete_session(self, session_id):
        self.sessions.DeleteSession(rpc.DeleteSessionRequest(
            request_id=str(uuid.uuid4()), session_id=session_id
        ))

    @staticmethod
    def _owner(session, prefix):
        """The session that has the state of this prefix."""
        return f"adk.{session.app}" + (f".{session.user}" if prefix == USER else "")

    @staticmethod
    def _slot(state):
        return pb.Slot(owner=STATE, version="1.0.0", data=json.dumps(state).encode(),
                       drift_policy=pb.DRIFT_POLICY_WARN)

    @staticmethod
    def _creation(**more):
        return rpc.CreateSessionRequest(
            manifest=pb.Manifest(mode=pb.MODE_ASK, project_root="/srv/agents"),
            kind=pb.SESSION_KIND_OPEN, **more,
        )

    def _put_shared(self, session, delta):
        """Writes what is shared, before the event that says so; returns the session's own rest."""
        for prefix in (APP, USER):
            puts = [
                items.ItemPut(item=items.Item(
                    collection=STATE, key=key[len(prefix):].encode(),
                    data=json.dumps(value).encode(),
                ))
                for key, value in delta.items() if key.startswith(prefix)
            ]
            if puts:
                self._put(self._owner(session, prefix), puts)
        return {k: v for k, v in delta.items() if not k.startswith((APP, USER, TEMP))}

    def _put(self, owner, puts):
        return self.items.PutItems(items.PutItemsRequest(
            request_id=str(uuid.uuid4()), session_id=owner, puts=puts,
            create_if_missing=self._creation(group="adk"),
        ))

    def _read_shared(self, owner, keys=()):
        """{key: (value, version)}"""
        request = items.ReadItemsRequest(session_id=owner, collection=STATE, keys=keys)
        data, versions = {}, {}
        try:
            for response in self.items.ReadItems(request):
                for piece in response.pieces:
                    key = piece.item.key.decode()
                    data[key] = data.get(key, b"") + piece.item.data
                    versions[key] = piece.item.version or versions.get(key, 0)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
        return {key: (json.loads(value), versions[key]) for key, value in data.items()}
