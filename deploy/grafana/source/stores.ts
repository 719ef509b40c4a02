// Rows of the dashboard of operations: holders, watchers, and the two kinds of stores.
import { lines, row, stat } from "./panels.js";
import { of, ofStores, rate } from "./selection.js";
import { FREE } from "./storage.js";

const GRANTS = "holdfast_lease_grants_total";

export function holdersRow() {
  return row("Leases, take-overs, sweeps", [
    lines({
      title: "Leases",
      description:
        "Leases that were granted, by the holder before: none, the same one, or another one.",
      unit: "ops",
      width: 6,
      queries: [[`sum by (previous_holder) (${rate(GRANTS)})`, "{{previous_holder}}"]],
    }),
    stat({
      title: "Take-overs",
      description: "Sessions that another holder took over, in the time that is shown.",
      unit: "short",
      width: 6,
      queries: [[`sum(increase(${of(GRANTS, 'previous_holder="other"')}[$__range]))`, ""]],
    }),
    lines({
      title: "Sessions of holders that were gone",
      description:
        "Sessions that a sweep recovered from a holder that was gone (abandoned), or whose" +
        " cancellation it completed (cancelled).",
      unit: "ops",
      width: 6,
      limits: { warning: 0.1, critical: 1 },
      queries: [[`sum by (sweep) (${rate("holdfast_swept_sessions_total")})`, "{{sweep}}"]],
    }),
    lines({
      title: "Sweeps",
      description: "Sweeps that looked for such sessions. One that failed is tried again.",
      unit: "ops",
      width: 6,
      queries: [
        [`sum by (sweep,outcome) (${rate("holdfast_sweeps_total")})`, "{{sweep}} {{outcome}}"],
      ],
    }),
  ]);
}

export function watchersRow() {
  return row("Watchers", [
    lines({
      title: "Watchers",
      description: "The part of limits.watchers that watches a session.",
      unit: "percentunit",
      width: 12,
      limits: { warning: 0.8, critical: 0.95 },
      queries: [
        [`${of("holdfast_watchers")} / ${of("holdfast_watchers_limit")}`, "{{instance}}"],
      ],
    }),
    lines({
      title: "Lag of watchers",
      description: "The age of the oldest event that a watcher waits for; 0 when none is behind.",
      unit: "s",
      width: 12,
      limits: { warning: 1, critical: 30 },
      queries: [[of("holdfast_watch_lag_seconds"), "{{instance}}"]],
    }),
  ]);
}

export function databaseRow() {
  const waits = rate("holdfast_postgres_pool_waits_total");
  return row("PostgreSQL", [
    lines({
      title: "Connections of the pool",
      description: "Open connections for calls, of all servers, beside what they may have.",
      unit: "short",
      width: 8,
      queries: [
        [`sum by (state) (${of("holdfast_postgres_connections")})`, "{{state}}"],
        [`sum(${of("holdfast_postgres_connections_limit")})`, "limit"],
      ],
    }),
    lines({
      title: "Waits for a connection",
      description:
        "Times that no connection was free at once, and those that ended without one: such a call" +
        " is refused with STORE_UNAVAILABLE.",
      unit: "ops",
      width: 8,
      limits: { warning: 10, critical: 100 },
      queries: [
        [`sum(${waits})`, "waits"],
        [`sum(${rate("holdfast_postgres_pool_timeouts_total")})`, "ended without one"],
      ],
    }),
    lines({
      title: "Calls that wait for a connection",
      description: "The time that was waited in a second, which is how many waited at a time.",
      unit: "short",
      width: 8,
      limits: { warning: 1, critical: 10 },
      queries: [[`sum(${rate("holdfast_postgres_pool_wait_seconds_total")})`, "waiting"]],
    }),
    lines({
      title: "Connections that were opened",
      description: "Each is used for half an hour at most. More is a database that ends them.",
      unit: "ops",
      width: 6,
      limits: { warning: 0.1, critical: 1 },
      queries: [[rate("holdfast_postgres_connections_opened_total"), "{{instance}}"]],
    }),
    lines({
      title: "Timeline",
      description: "The newest timeline of the database that a server saw. A failover raises it.",
      unit: "none",
      width: 6,
      queries: [[of("holdfast_postgres_timeline"), "{{instance}}"]],
    }),
    lines({
      title: "Serving servers",
      description:
        "Servers that are registered in the database, at most two minutes old, beside those that" +
        " are scraped.",
      unit: "short",
      width: 6,
      queries: [
        [ofStores(of("holdfast_postgres_serving_servers")), "registered"],
        [`count(${of("holdfast_postgres_timeline")})`, "scraped"],
      ],
    }),
    lines({
      title: "Schema step",
      description:
        "The newest schema step of the database, at most two minutes old, and the newest that each" +
        " server's program knows. A server below the database is left from before an upgrade.",
      unit: "none",
      width: 6,
      queries: [
        [
          `max by (namespace,job) (${of("holdfast_postgres_schema_step")})`,
          "database of {{job}}",
        ],
        [of("holdfast_postgres_schema_step_known"), "{{instance}}"],
      ],
    }),
  ]);
}

export function filesRow() {
  const available = of("holdfast_files_available_bytes");
  return row("Files", [
    lines({
      title: "Free part of the disk",
      description:
        "What the server's user may still write, of the whole file system that holds the store.",
      unit: "percentunit",
      width: 12,
      limits: { warning: 0.2, critical: 0.1 },
      queries: [[FREE, "{{instance}}"]],
    }),
    lines({
      title: "Free space in six hours",
      description:
        "If it shrinks as in the time that is shown. At zero changes are refused with" +
        " STORAGE_FULL.",
      unit: "bytes",
      width: 12,
      limits: { warning: 4e9, critical: 1e9 },
      queries: [[`predict_linear(${available}[$__range], 6 * 3600)`, "{{instance}}"]],
    }),
  ]);
}
