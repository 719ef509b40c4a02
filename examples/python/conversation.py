"""The memory of an agents' SDK: the items of one conversation, over a session of kind OPEN.

Each of get, add, pop and clear is one call. Any number of processes may use one conversation: each
item that is added is there once, and of several that pop each gets an item of its own.
"""
import json
import uuid

import grpc
from holdfast.v1 import restore_pb2 as restore, session_pb2 as pb, session_reads_pb2 as reads
from holdfast.v1 import session_service_pb2 as rpc, session_service_pb2_grpc
from holdfast.v1 import snapshots_pb2 as snapshots, store_service_pb2_grpc

CONTENT_TYPE = "application/json"


def of(code, error):
    return error.code() == code


class Conversation:
    def __init__(self, channel, session_id, group="agents/default"):
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.store = store_service_pb2_grpc.StoreServiceStub(channel)
        self.session_id, self.group = session_id, group

    def get_items(self, limit=None):
        """The items, oldest first; the newest `limit` of them."""
        request = reads.ReadSessionRequest(
            session_id=self.session_id,
            tail_messages=limit or 0,
            parts=[reads.SESSION_PART_MESSAGES],
        )
        items, data = [], b""
        try:
            for response in self.sessions.ReadSession(request):
                for piece in response.pieces:
                    if not piece.HasField("message"):
                        continue
                    data += piece.message.data
                    if len(data) == piece.total_bytes:
                        items.append(json.loads(data))
                        data = b""
        except grpc.RpcError as error:
            if of(grpc.StatusCode.NOT_FOUND, error):
                return []
            raise
        return items

    def add_items(self, items):
        """Adds items behind those that are there by then."""
        self.store.WriteSnapshot(snapshots.WriteSnapshotRequest(
            request_id=str(uuid.uuid4()),
            session_id=self.session_id,
            messages=[
                pb.Message(
                    role=item.get("role", "tool"),
                    content_type=CONTENT_TYPE,
                    data=json.dumps(item).encode(),
                )
                for item in items
            ],
            create_if_missing=rpc.CreateSessionRequest(
                manifest=pb.Manifest(mode=pb.MODE_ASK, project_root="/srv/agents"),
                kind=pb.SESSION_KIND_OPEN,
                group=self.group,
            ),
        ))

    def pop_item(self):
        """Takes the newest item and returns it; None where there is none."""
        point = restore.RestorePoint(drop_last=1)
        removed = self._restore(point=point, return_messages=1)
        return json.loads(removed[0].data) if removed else None

    def clear_session(self):
        self._restore(point=restore.RestorePoint(messages=0))

    def _restore(self, **what):
        """The messages that the call has taken. A repeat of it takes no others."""
        request = restore.RestoreSessionRequest(
            request_id=str(uuid.uuid4()), session_id=self.session_id, **what
        )
        try:
            return self.sessions.RestoreSession(request).removed_messages
        except grpc.RpcError as error:
            if of(grpc.StatusCode.NOT_FOUND, error):
                return []
            raise
