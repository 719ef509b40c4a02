// Rows of the dashboard of sessions: health, and the state machine of all sessions.
import { arrows, lines, row, stat, table } from "./panels.js";
import { of, ofStores, quantile, rate } from "./selection.js";
import type { Query } from "./panels.js";

const TRANSITIONS = "holdfast_session_transitions_total";
const SESSIONS = "holdfast_sessions";
// What the server is to blame for.
export const FAULTS = "INTERNAL|UNAVAILABLE|DATA_LOSS|UNKNOWN";
const UNFIT = [
  "ILLEGAL_TRANSITION",
  "CONCURRENT_TURN",
  "STALE_TURN",
  "STALE_REVISION",
  "LEASE_REQUIRED",
  "FENCED",
  "LEASE_HELD",
].join("|");
const COMMITS = 'method=~"CommitTurn|CommitTurnStream"';
// A refusal is quick, and would make the others look so.
export const SERVED = 'outcome="ok"';
const ONE_STORE =
  "The servers of a job are taken for servers of one store, which all say the same.";

export function healthRow() {
  const answered = (...matchers: string[]) => rate("holdfast_rpc_handled_total", ...matchers);
  return row("Health", [
    stat({
      title: "Servers that serve",
      description: "The part of the servers that are scraped whose health says SERVING.",
      unit: "percentunit",
      width: 4,
      limits: { warning: 1, critical: 0.5 },
      queries: [[`sum(${of("holdfast_serving")}) / count(${of("holdfast_serving")})`, ""]],
    }),
    stat({
      title: "Store",
      description:
        "Whether the last look at the store succeeded on every server. Where it did not, calls" +
        " are refused with STORE_UNAVAILABLE.",
      unit: "none",
      width: 4,
      limits: { warning: 1, critical: 0.5 },
      words: ["cannot be used", "usable"],
      queries: [[`min(${of("holdfast_store_healthy")})`, ""]],
    }),
    stat({
      title: "Calls that failed for the server's sake",
      description: `The part of calls that ended with ${FAULTS.replaceAll("|", ", ")}.`,
      unit: "percentunit",
      width: 4,
      limits: { warning: 0.001, critical: 0.01 },
      queries: [[`1 - sum(${answered(`code!~"${FAULTS}"`)}) / sum(${answered()})`, ""]],
    }),
    stat({
      title: "99 % of commits within",
      description: "The 99th percentile of CommitTurn and CommitTurnStream that were served, from call to" +
        " answer.",
      unit: "s",
      width: 4,
      limits: { warning: 0.25, critical: 1 },
      queries: [[quantile(0.99, "holdfast_rpc_duration_seconds", [], COMMITS, SERVED), ""]],
    }),
    stat({
      title: "Sessions in a turn",
      description: `Sessions whose lifecycle is ACTIVE, at most a minute old. ${ONE_STORE}`,
      unit: "short",
      width: 4,
      queries: [[ofStores(of(SESSIONS, 'lifecycle="ACTIVE"')), ""]],
    }),
    stat({
      title: "Turns committed",
      description: "Turns that ended with a commit, a second.",
      unit: "ops",
      width: 4,
      queries: [[`sum(${rate(TRANSITIONS, 'trigger="CommitTurn"')})`, ""]],
    }),
  ]);
}

// Mean time in a state by Little's law: sessions in it, divided by what leaves it. By job, because
// a store that does not count the state must not count what leaves it either.
function dwell(state: string): Query {
  const inside = `avg_over_time(${of(SESSIONS, `lifecycle="${state}"`)}[$__range])`;
  const left = `rate(${of(TRANSITIONS, `from="${state}"`, `to!="${state}"`)}[$__range])`;
  const by = "by (namespace,job)";
  return [`max ${by} (${inside}) / sum ${by} (${left})`, `${state} {{job}}`];
}

export function machineRow() {
  const increase = `increase(${of(TRANSITIONS)}[$__range])`;
  const edges = `60 * sum by (from,to) (rate(${of(TRANSITIONS)}[$__range]))`;
  // The panel of a graph wants its own names.
  const named = [
    ["source", "from"],
    ["target", "to"],
  ].reduce((made, [to, from]) => `label_replace(${made}, "${to}", "$1", "${from}", "(.*)")`, edges);
  return row("State machine", [
    arrows({
      title: "Transitions",
      description:
        "The lifecycle as a graph: an arrow has the transitions a minute over the time that is" +
        " shown, a state those that lead into it. NONE is before a session, DELETED after it;" +
        " UNKNOWN is a state before that the server did not know.",
      unit: "opm",
      width: 12,
      queries: [[`label_join(${named}, "id", "-", "from", "to")`, ""]],
    }),
    table({
      title: "Transitions by trigger",
      description:
        "The same by trigger: how many in the time that is shown, and how many a second now.",
      unit: "short",
      width: 12,
      height: 12,
      columns: { from: "From", to: "To", trigger: "Trigger" },
      queries: [
        [`sum by (from,to,trigger) (${increase})`, "Transitions"],
        [`sum by (from,to,trigger) (${rate(TRANSITIONS)})`, "A second"],
      ],
    }),
    lines({
      title: "Transitions a second",
      description: "Applied changes that set the lifecycle of a session.",
      unit: "ops",
      width: 12,
      queries: [
        [`sum by (from,to,trigger) (${rate(TRANSITIONS)})`, "{{from}} to {{to}} by {{trigger}}"],
      ],
    }),
    lines({
      title: "Sessions by lifecycle",
      description:
        "Sessions that are stored, at most a minute old. Over PostgreSQL only those in ACTIVE are" +
        ` counted. ${ONE_STORE}`,
      unit: "short",
      width: 12,
      stacked: true,
      queries: [[ofStores(of(SESSIONS), "lifecycle"), "{{lifecycle}}"]],
    }),
    lines({
      title: "Mean time in a state",
      description:
        "By Little's law: the sessions in a state divided by those that leave it, both over the" +
        " time that is shown. It holds where as many enter as leave: choose a time much longer" +
        " than the answer. A mean of all sessions, and no distribution: no metric has the time of" +
        " one session; for that see its states and turns below. Over PostgreSQL only ACTIVE is" +
        " known. CLOSED is missing, as most sessions never leave it. Transitions from UNKNOWN are" +
        " not counted.",
      unit: "s",
      width: 12,
      queries: ["IDLE", "ACTIVE", "PERSISTED", "RESUMED"].map(dwell),
    }),
    lines({
      title: "Refused for a session's state",
      description:
        "Calls that the state of their session, its turn or its lease did not allow. A few" +
        " are normal where holders change; many are clients that disagree.",
      unit: "ops",
      width: 12,
      limits: { warning: 1, critical: 10 },
      queries: [
        [
          `sum by (reason) (${rate("holdfast_rpc_refused_total", `reason=~"${UNFIT}"`)})`,
          "{{reason}}",
        ],
      ],
    }),
  ]);
}
