// Rows of the dashboard of operations: what the servers use, each with its limit.
import { lines, row } from "./panels.js";
import { of, ofServers, rate } from "./selection.js";
import type { Query } from "./panels.js";

const NEAR = { warning: 0.8, critical: 0.95 };

// The part of a limit that is used.
function used(what: string, limit: string, name = "{{instance}}"): Query {
  return [`${of(what)} / ${of(limit)}`, name];
}

export function workersRow() {
  return row("Queue and workers", [
    lines({
      title: "Queue",
      description:
        "The part of limits.queued_calls that is taken. A full one refuses calls with OVERLOADED.",
      unit: "percentunit",
      width: 6,
      limits: NEAR,
      queries: [used("holdfast_queued_calls", "holdfast_queued_calls_limit")],
    }),
    lines({
      title: "Oldest call in the queue",
      description: "How long it has waited. After 30 s without progress liveness fails.",
      unit: "s",
      width: 6,
      limits: { warning: 1, critical: 10 },
      queries: [[of("holdfast_queue_oldest_age_seconds"), "{{instance}}"]],
    }),
    lines({
      title: "Workers that are busy",
      description:
        "The part of server.workers that runs a task, waits for the disk or for the database.",
      unit: "percentunit",
      width: 6,
      limits: NEAR,
      queries: [used("holdfast_workers_busy", "holdfast_workers")],
    }),
    lines({
      title: "Workers that compute",
      description:
        "Workers that are not blocked. The server begins no more calls than there are cores.",
      unit: "short",
      width: 6,
      queries: [[of("holdfast_workers_on_core"), "{{instance}}"]],
    }),
  ]);
}

export function memoryRow() {
  return row("Memory", [
    lines({
      title: "Memory budget",
      description: "The part of limits.memory_budget that calls hold. Beyond it calls are refused.",
      unit: "percentunit",
      width: 6,
      limits: NEAR,
      queries: [used("holdfast_memory_budget_used_bytes", "holdfast_memory_budget_limit_bytes")],
    }),
    lines({
      title: "Staged uploads",
      description:
        "The part of limits.staged_bytes that unfinished uploads have reserved, on the disk or in" +
        " the database.",
      unit: "percentunit",
      width: 6,
      limits: NEAR,
      queries: [used("holdfast_staged_used_bytes", "holdfast_staged_limit_bytes")],
    }),
    lines({
      title: "Guarded memory",
      description:
        "Memory that no file backs, as a part of the limit at which the memory guard closes" +
        " connections (ADR 35).",
      unit: "percentunit",
      width: 6,
      limits: NEAR,
      queries: [used("holdfast_process_guarded_bytes", "holdfast_process_guarded_limit_bytes")],
    }),
    lines({
      title: "Resident memory",
      description: "Of the whole process, with what files back.",
      unit: "bytes",
      width: 6,
      queries: [[ofServers("process_resident_memory_bytes"), "{{instance}}"]],
    }),
  ]);
}

export function connectionsRow() {
  return row("Connections and descriptors", [
    lines({
      title: "Connections",
      description: "The part of server.connections that is open.",
      unit: "percentunit",
      width: 6,
      limits: NEAR,
      queries: [used("holdfast_connections", "holdfast_connections_limit")],
    }),
    lines({
      title: "New connections",
      description: "Connections that were accepted and kept. Many are clients that keep none.",
      unit: "cps",
      width: 6,
      queries: [[rate("holdfast_connections_accepted_total"), "{{instance}}"]],
    }),
    lines({
      title: "Connections that were closed",
      description:
        "Closed at once for a limit (a peer's rate, a peer, the server), or later for the" +
        " server's protection (resets, memory).",
      unit: "cps",
      width: 6,
      limits: { warning: 0.1, critical: 10 },
      queries: [
        [`sum by (limit) (${rate("holdfast_connections_refused_total")})`, "limit {{limit}}"],
        [`sum by (cause) (${rate("holdfast_connections_closed_total")})`, "cause {{cause}}"],
      ],
    }),
    lines({
      title: "Open streams",
      description: "Streams of journals, uploads, reads and reflection.",
      unit: "short",
      width: 6,
      queries: [[of("holdfast_streams"), "{{instance}}"]],
    }),
    lines({
      title: "Descriptors",
      description: "The part of the soft limit that is open: files, connections, the database's.",
      unit: "percentunit",
      width: 8,
      limits: NEAR,
      queries: [
        [`${ofServers("process_open_fds")} / ${ofServers("process_max_fds")}`, "{{instance}}"],
      ],
    }),
    lines({
      title: "Pauses of the acceptor",
      description:
        "In the time that is shown, because the process or the system had no descriptor or memory" +
        " left.",
      unit: "short",
      width: 8,
      limits: { warning: 1, critical: 10 },
      queries: [[`increase(${of("holdfast_accept_pauses_total")}[$__range])`, "{{instance}}"]],
    }),
    lines({
      title: "Threads",
      description: "Threads of each server: workers, gRPC's own, and a few more.",
      unit: "short",
      width: 8,
      queries: [[ofServers("process_threads"), "{{instance}}"]],
    }),
  ]);
}

export function telemetryRow() {
  return row("Logs and traces", [
    lines({
      title: "Log lines left out",
      description:
        "More of one kind than are written in a second (rate), or more than wait for a slow" +
        " reader (queue).",
      unit: "cps",
      width: 6,
      limits: { warning: 1, critical: 100 },
      queries: [[`sum by (cause) (${rate("holdfast_log_lines_left_out_total")})`, "{{cause}}"]],
    }),
    lines({
      title: "Spans",
      description:
        "What became of spans, a second; docs/operations.md explains each outcome. Empty where" +
        " nothing is traced.",
      unit: "cps",
      width: 6,
      queries: [[`sum by (outcome) (${rate("holdfast_spans_total")})`, "{{outcome}}"]],
    }),
    lines({
      title: "Exports that failed",
      description:
        "Exports that the collector did not answer with OK. They are tried again for 60 s.",
      unit: "cps",
      width: 6,
      limits: { warning: 0.01, critical: 1 },
      queries: [[rate("holdfast_span_exports_failed_total"), "{{instance}}"]],
    }),
    lines({
      title: "Calls without a span for the cap",
      description:
        "Calls that telemetry.sampled_roots_per_second kept from being recorded. Their traces" +
        " have gaps.",
      unit: "cps",
      width: 6,
      limits: { warning: 1, critical: 1000 },
      queries: [[rate("holdfast_unsampled_calls_total"), "{{instance}}"]],
    }),
  ]);
}
