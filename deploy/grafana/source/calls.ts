// Rows of the dashboard of operations: the servers themselves, and their calls.
import { FAULTS, SERVED } from "./machine.js";
import { lines, row, stat, table } from "./panels.js";
import { of, ofServers, quantile, rate } from "./selection.js";
import { spans } from "./traces.js";

const HANDLED = "holdfast_rpc_handled_total";
const DURATION = "holdfast_rpc_duration_seconds";

export function serversRow() {
  const started = ofServers("process_start_time_seconds");
  return row("Servers", [
    stat({
      title: "Servers",
      description: "Servers that Prometheus scrapes.",
      unit: "short",
      width: 3,
      queries: [[`count(${of("holdfast_build_info")})`, ""]],
    }),
    stat({
      title: "Servers that do not serve",
      description: "Servers whose health says NOT_SERVING.",
      unit: "short",
      width: 4,
      limits: { warning: 1, critical: 2 },
      queries: [[`count(${of("holdfast_serving")}) - sum(${of("holdfast_serving")})`, ""]],
    }),
    stat({
      title: "Warnings",
      description:
        "Warnings about the stores; `holdfast health` prints them, and docs/operations.md has" +
        " their meaning.",
      unit: "short",
      width: 3,
      limits: { warning: 1, critical: 10 },
      queries: [[`sum(${of("holdfast_store_warnings")})`, ""]],
    }),
    stat({
      title: "Insecure servers",
      description: "Servers with server.insecure or the insecure of a store.",
      unit: "short",
      width: 4,
      limits: { warning: 1, critical: 1000 },
      queries: [[`sum(${of("holdfast_insecure")})`, ""]],
    }),
    stat({
      title: "Restarts",
      description:
        "Starts of a server at an address that another one had before, in the time that is shown." +
        " A pod that was replaced has another address, and is an annotation alone.",
      unit: "short",
      width: 3,
      limits: { warning: 1, critical: 3 },
      queries: [
        [
          `sum(changes(${of("process_start_time_seconds")}[$__range])` +
            ` and on (namespace,job,instance) ${of("holdfast_build_info")})`,
          "",
        ],
      ],
    }),
    stat({
      title: "Exceptions",
      description: "Exceptions in the time that is shown. Each is a defect: please report it.",
      unit: "short",
      width: 3,
      limits: { warning: 1, critical: 1 },
      queries: [[`sum(increase(${of("holdfast_exceptions_total")}[$__range]))`, ""]],
    }),
    stat({
      title: "Shortest time since a start",
      description: "Of the server that started last.",
      unit: "s",
      width: 4,
      queries: [[`min(time() - ${started})`, ""]],
    }),
    table({
      title: "Versions",
      description: "The version of each server. During an update there are two.",
      unit: "none",
      width: 12,
      columns: { instance: "Server", job: "Job", namespace: "Namespace", version: "Version" },
      queries: [
        [`count by (namespace,job,instance,version) (${of("holdfast_build_info")})`, "Servers"],
      ],
    }),
    lines({
      title: "Processor time",
      description: "Cores that each server uses.",
      unit: "short",
      width: 12,
      queries: [
        [
          `rate(${of("process_cpu_seconds_total")}[$__rate_interval])` +
            ` and on (namespace,job,instance) ${of("holdfast_build_info")}`,
          "{{instance}}",
        ],
      ],
    }),
  ]);
}

export function callsRow() {
  const spared = rate(HANDLED, `code!~"${FAULTS}"`);
  return row("Calls", [
    lines({
      title: "Calls by method",
      description: "Calls that were answered, a second.",
      unit: "reqps",
      width: 12,
      queries: [[`sum by (method) (${rate(HANDLED)})`, "{{method}}"]],
    }),
    lines({
      title: "Calls by status",
      description:
        "Calls that were answered, by the code of gRPC. INTERNAL, UNAVAILABLE, DATA_LOSS and" +
        " UNKNOWN are the server's; the others are a client's.",
      unit: "reqps",
      width: 12,
      queries: [[`sum by (code) (${rate(HANDLED)})`, "{{code}}"]],
    }),
    lines({
      title: "99 % of calls within",
      description:
        "By method, from a call's entry to its answer, of those that were served; of a stream, how" +
        " long it lasted.",
      unit: "s",
      width: 12,
      limits: { warning: 1, critical: 5 },
      queries: [[quantile(0.99, DURATION, ["method"], SERVED), "{{method}}"]],
    }),
    lines({
      title: "Half of the calls within",
      description: "The median of those that were served, by method.",
      unit: "s",
      width: 12,
      limits: { warning: 0.25, critical: 1 },
      queries: [[quantile(0.5, DURATION, ["method"], SERVED), "{{method}}"]],
    }),
    lines({
      title: "Refusals by reason",
      description: "Calls that were refused or failed, a second; docs/api-reference.md explains the reasons.",
      unit: "reqps",
      width: 12,
      limits: { warning: 1, critical: 10 },
      queries: [[`sum by (reason) (${rate("holdfast_rpc_refused_total")}) > 0`, "{{reason}}"]],
    }),
    lines({
      title: "Failed for the server's sake, by method",
      description: "The part of a method's calls whose status is the server's fault.",
      unit: "percentunit",
      width: 12,
      limits: { warning: 0.001, critical: 0.01 },
      queries: [
        [`1 - sum by (method) (${spared}) / sum by (method) (${rate(HANDLED)})`, "{{method}}"],
      ],
    }),
    lines({
      title: "Begun and answered",
      description: "Where more is begun than answered for long, calls pile up.",
      unit: "reqps",
      width: 8,
      queries: [
        [`sum(${rate("holdfast_rpc_started_total")})`, "begun"],
        [`sum(${rate(HANDLED)})`, "answered"],
      ],
    }),
    lines({
      title: "Calls in flight",
      description: "Calls that wait, run, or whose answer is still being sent, by method.",
      unit: "short",
      width: 8,
      queries: [[`sum by (method) (${of("holdfast_rpc_in_flight")})`, "{{method}}"]],
    }),
    lines({
      title: "Bytes of calls",
      description: "Bytes of whole request messages, and of the replies of unary calls.",
      unit: "Bps",
      width: 8,
      queries: [
        [`sum(${rate("holdfast_rpc_received_bytes_total")})`, "requests"],
        [`sum(${rate("holdfast_rpc_unary_reply_bytes_total")})`, "replies"],
      ],
    }),
    spans({
      title: "Calls that failed, by their traces",
      description:
        "Sampled calls that failed for the server's sake. A session leads to its dashboard, a" +
        " trace's name to its trace.",
      width: 24,
      query:
        '{ kind = server && status = error && span.rpc.service =~ "holdfast.*" } |' +
        " select(span.session.id, span.rpc.method, span.error.type)",
    }),
  ]);
}
