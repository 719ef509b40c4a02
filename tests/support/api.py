"""The API for tests in Python: its stubs, made of the protos, and the requests of an agent."""
import os
import shutil
import sys
import uuid

from programs import ROOT, done

PROTOS = os.path.join(ROOT, "protos")
SERVICE_CONFIG = os.path.join(PROTOS, "holdfast", "v1", "service_config.json")


def generate_stubs(folder):
    """The stubs; the folder is what PYTHONPATH shall name."""
    plugin = shutil.which("grpc_python_plugin")
    found = []
    for directory, folders, names in os.walk(PROTOS):
        folders[:] = [folder for folder in folders if folder != "opentelemetry"]  # not the API's
        found += [os.path.join(directory, name) for name in names if name.endswith(".proto")]
    os.makedirs(folder, exist_ok=True)
    arguments = [f"--python_out={folder}", f"--grpc_out={folder}"]
    done(["protoc", f"-I{PROTOS}", f"--plugin=protoc-gen-grpc={plugin}", *arguments, *found])


def use_stubs(build):
    """This program may import them from now on."""
    folder = os.path.join(build, "stubs", "python")
    generate_stubs(folder)
    sys.path.insert(1, folder)


def new_id():
    return str(uuid.uuid4())


def create(session, **more):
    from holdfast.v1 import session_pb2, session_service_pb2

    return session_service_pb2.CreateSessionRequest(
        request_id=new_id(),
        session_id=session,
        manifest=session_pb2.Manifest(mode=session_pb2.MODE_ASK, project_root="/project"),
        holder="test",
        **more,
    )


def take_over(session):
    from holdfast.v1 import session_service_pb2

    return session_service_pb2.ResumeSessionRequest(
        request_id=new_id(),
        session_id=session,
        holder="other test",
        force=session_service_pb2.ForceTakeover(reason="its server is gone"),
    )


def begin(session, token):
    from holdfast.v1 import session_pb2, turns_pb2

    return turns_pb2.BeginTurnRequest(
        request_id=new_id(),
        session_id=session,
        lease_token=token,
        source=session_pb2.TURN_SOURCE_USER,
    )


def commit(session, token, turn, data):
    """Ends the turn with one message of these bytes."""
    from holdfast.v1 import session_pb2, turns_pb2

    return turns_pb2.CommitTurnRequest(
        request_id=new_id(),
        session_id=session,
        lease_token=token,
        turn=turn,
        outcome=session_pb2.TURN_OUTCOME_OK,
        messages=[message(data)],
    )


def message(data):
    from holdfast.v1 import session_pb2

    return session_pb2.Message(role="user", data=data)


def get(session):
    from holdfast.v1 import session_service_pb2

    return session_service_pb2.GetSessionRequest(session_id=session)
