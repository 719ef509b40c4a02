// The dashboard "Session transitions": whether the service is healthy, what its sessions do, what
// one session did, and what storing it takes.
import { build, dashboard } from "./dashboard.js";
import { healthRow, machineRow } from "./machine.js";
import { row } from "./panels.js";
import { textVariable } from "./selection.js";
import { storageRow } from "./storage.js";
import {
  FROM,
  OPERATIONS_UID,
  REVISION,
  SESSION,
  SESSIONS_UID,
  TO,
  TRIGGER,
  oneTrace,
  spans,
  states,
} from "./traces.js";

const SAMPLED =
  "What was not sampled is missing (telemetry.sampling_ratio and the cap per second).";
const TRANSITION = 'name = "session.transition"';
const OF_SESSION = `span.${SESSION} = "$session"`;

function sessionRow() {
  const fields = [FROM, TO, TRIGGER, REVISION].map((name) => `span.${name}`).join(", ");
  return row("One session", [
    states({
      title: "States of session $session",
      description:
        "The lifecycle of the session that the variable Session names, from its transitions in" +
        ` traces: each state lasts until the next one. ${SAMPLED}`,
      width: 24,
      query: `{ ${TRANSITION} && ${OF_SESSION} } | select(span.${TO})`,
    }),
    spans({
      title: "Transitions of session $session",
      description:
        "Each transition with its trigger and the revision that it made. A trace's name leads to" +
        ` that trace, below. ${SAMPLED}`,
      width: 12,
      query: `{ ${TRANSITION} && ${OF_SESSION} } | select(span.${SESSION}, ${fields})`,
    }),
    spans({
      title: "Calls of session $session",
      description:
        "Each sampled call that named the session, with its status and, where it was refused, its" +
        " reason in error.type (docs/api-reference.md).",
      width: 12,
      query:
        `{ kind = server && ${OF_SESSION} } | select(span.${SESSION}, span.rpc.method,` +
        " span.rpc.grpc.status_code, span.error.type)",
    }),
    spans({
      title: "Turns of session $session",
      description:
        "Each turn from its begin to its end, by the server that ended it, with how it ended. Its" +
        ` duration is the time that the session was in ACTIVE. ${SAMPLED}`,
      width: 24,
      query:
        `{ name = "session.turn" && ${OF_SESSION} } | select(span.${SESSION},` +
        " span.holdfast.turn.number, span.holdfast.turn.source, span.holdfast.turn.outcome)",
    }),
    spans({
      title: "Newest transitions of all sessions",
      description:
        "To find a session: its name leads to itself, on this dashboard. At most 200 traces of" +
        ` the time that is shown. ${SAMPLED}`,
      width: 24,
      query: `{ ${TRANSITION} } | select(span.${SESSION}, span.gen_ai.conversation.id, ${fields})`,
    }),
    oneTrace({
      title: "Trace $trace",
      description: "The trace that the variable Trace names; empty while it names none.",
      width: 24,
    }),
  ]);
}

export function sessions() {
  const built = dashboard(
    SESSIONS_UID,
    "Session transitions",
    "What the sessions of Holdfast do: their states and transitions, one session by its id, and" +
      " what storing them takes. docs/operations.md says what each row answers.",
    { uid: OPERATIONS_UID, title: "Operations" },
  )
    .withVariable(textVariable("session", "Session", "The id of one session"))
    .withVariable(textVariable("trace", "Trace", "The id of one trace"));
  return build(built, [healthRow(), machineRow(), sessionRow(), storageRow()]);
}
