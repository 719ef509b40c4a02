"""A store for the checkpoints of a graph framework, over items of open sessions: one call each.

A thread is a session. Its checkpoints lie in one collection, by namespace and id, whose order is
that of time. A checkpoint refers to the values of its channels, which lie under their versions and
are written once. What tasks wrote on a checkpoint is attached to it: the key of a write begins with
the checkpoint's own. Any number of processes may use one thread at once.

A thread that was deleted can be used again by a process that has read that it is not there: its
writes then say which deleted session they replace. A write from before the delete says nothing of
it, and is refused.
"""
import uuid

import grpc
from google.rpc import error_details_pb2, status_pb2
from holdfast.v1 import item_service_pb2_grpc, items_pb2 as items, session_pb2 as pb
from holdfast.v1 import session_service_pb2 as rpc, session_service_pb2_grpc

CHECKPOINTS, VALUES, WRITES = "checkpoints", "values", "writes"


def reason_of(error):
    """(reason, facts) of a refusal."""
    info = error_details_pb2.ErrorInfo()
    packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for detail in status_pb2.Status.FromString(packed).details:
        detail.Unpack(info)
        if info.reason:
            break
    return info.reason, info.metadata


def key_of(*parts):
    return "/".join(parts).encode()


class Checkpointer:
    def __init__(self, channel, group="langgraph/default"):
        self.items = item_service_pb2_grpc.ItemServiceStub(channel)
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.group = group
        self.deleted = {}  # thread: its deleted session, as the last read has found it
        self.uids = {}  # thread: its session, where it was deleted once

    def put(self, thread, checkpoint, values, metadata, parent="", namespace=""):
        """Stores a checkpoint and its new values: {channel: (version, bytes or None)}."""
        refs = [
            items.ItemRef(collection=VALUES, key=key_of(namespace, name, version))
            for name, (version, _) in values.items()
        ]
        puts = [
            items.ItemPut(
                item=items.Item(collection=VALUES, key=ref.key, data=data),
                condition=items.PUT_CONDITION_IF_ABSENT,
            )
            for ref, (_, data) in zip(refs, values.values())
            if data is not None  # a value of an earlier checkpoint
        ]
        item = items.Item(
            collection=CHECKPOINTS,
            key=key_of(namespace, checkpoint),
            parent_key=key_of(namespace, parent) if parent else b"",
            refs=refs,
            labels={name: items.Label(string_value=text) for name, text in metadata.items()},
        )
        self.write(thread, puts + [items.ItemPut(item=item)])

    def put_writes(self, thread, checkpoint, task, writes, namespace=""):
        """Stores what a task wrote on a checkpoint, which need not be there: [(channel, bytes)]."""
        self.write(thread, [
            items.ItemPut(item=items.Item(
                collection=WRITES,
                key=key_of(namespace, checkpoint) + b"\0" + key_of(task, f"{index:06}"),
                labels={"channel": items.Label(string_value=channel)},
                data=data,
            ))
            for index, (channel, data) in enumerate(writes)
        ])

    def get(self, thread, checkpoint="", namespace=""):
        """The checkpoint of this id, or the newest: (id, {channel: bytes}, [write]), or None."""
        if checkpoint:
            page = self.read(thread, keys=[key_of(namespace, checkpoint)])
        else:
            newest = items.ItemRange(key_prefix=key_of(namespace, ""), descending=True)
            page = self.read(thread, range=newest, page_size=1)
        return page[0] if page else None

    def list(self, thread, metadata=None, namespace="", limit=50):
        """The newest checkpoints, with their values and writes; of these metadata alone."""
        return self.read(
            thread,
            range=items.ItemRange(key_prefix=key_of(namespace, ""), descending=True),
            labels={n: items.Label(string_value=text) for n, text in (metadata or {}).items()},
            page_size=limit,
        )

    def ancestors(self, thread, checkpoint, namespace="", limit=50):
        """The checkpoint and those before it, the newest first."""
        key = key_of(namespace, checkpoint)
        return self.read(thread, ancestors_of=key, page_size=limit)

    def prune(self, thread, before, namespace=""):
        """Deletes the checkpoints before this one, and what was written on them."""
        span = items.KeyRange(start_key=key_of(namespace, ""), end_key=key_of(namespace, before))
        self.write(thread, [], deletes=[
            items.ItemDelete(collection=collection, range=span)
            for collection in (CHECKPOINTS, WRITES)
        ])

    def delete(self, thread):
        self.sessions.DeleteSession(rpc.DeleteSessionRequest(
            request_id=str(uuid.uuid4()),
            session_id=thread,
            session_uid=self.uids.pop(thread, ""),
        ))

    def write(self, thread, puts, deletes=()):
        """One call, which also creates the session of a thread that is not there."""
        replaced = self.deleted.pop(thread, "")
        reply = self.items.PutItems(items.PutItemsRequest(
            request_id=str(uuid.uuid4()),
            session_id=thread,
            session_uid=self.uids.get(thread, ""),
            puts=puts,
            deletes=deletes,
            create_if_missing=rpc.CreateSessionRequest(
                manifest=pb.Manifest(mode=pb.MODE_ASK, project_root="/srv/graphs"),
                kind=pb.SESSION_KIND_OPEN,
                group=self.group,
                reuse_deleted=replaced,
            ),
        ))
        if replaced:
            self.uids[thread] = reply.session_uid

    def read(self, thread, **what):
        """Checkpoints with their values and writes, in one call."""
        request = items.ReadItemsRequest(
            session_id=thread,
            collection=CHECKPOINTS,
            include_refs=True,
            include_attached=WRITES,
            **what,
        )
        found, values, data = [], {}, {}
        try:
            for response in self.items.ReadItems(request):
                for piece in response.pieces:
                    name = (piece.item.collection, piece.item.key)
                    data[name] = data.get(name, b"") + piece.item.data
                    if piece.chunk_offset == 0:
                        found.append(piece.item)
        except grpc.RpcError as error:
            reason, facts = reason_of(error)
            if reason == "TOMBSTONED":
                self.deleted[thread] = facts["session_uid"]
            elif reason != "SESSION_NOT_FOUND":
                raise
            return []
        for item in found:
            if item.collection == VALUES:
                values[item.key] = data[VALUES, item.key]
        return [self.checkpoint(item, found, values, data)
                for item in found if item.collection == CHECKPOINTS]

    @staticmethod
    def checkpoint(item, found, values, data):
        channels = {
            ref.key.rsplit(b"/", 2)[1].decode(): values.get(ref.key) for ref in item.refs
        }
        writes = [
            (write.labels["channel"].string_value, data[WRITES, write.key])
            for write in found
            if write.collection == WRITES and write.key.startswith(item.key + b"\0")
        ]
        return item.key.split(b"/")[-1].decode(), channels, writes
