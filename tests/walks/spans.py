"""Spans in the messages that a receiver has kept, by the protocol's definitions."""
import glob
import importlib
import os
import subprocess
import sys

from programs import ROOT

PROTOS = os.path.join(ROOT, "protos")
MESSAGES = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"


def use_definitions(folder):
    """This program can read spans from now on; what that needs is put into the folder."""
    found = glob.glob(os.path.join(PROTOS, "opentelemetry", "**", "*.proto"), recursive=True)
    os.makedirs(folder)
    subprocess.run(["protoc", f"-I{PROTOS}", f"--python_out={folder}", *found], check=True)
    sys.path.insert(1, folder)


def names_of_trace(folder, trace):
    """The names of the spans of one trace, an id of 32 digits, in all files of the folder."""
    messages = importlib.import_module(MESSAGES)
    names = set()
    for name in os.listdir(folder):
        if not name.isdigit():
            continue
        with open(os.path.join(folder, name), "rb") as file:
            request = messages.ExportTraceServiceRequest.FromString(file.read())
        for process in request.resource_spans:
            for scope in process.scope_spans:
                names |= {span.name for span in scope.spans if span.trace_id.hex() == trace}
    return names
