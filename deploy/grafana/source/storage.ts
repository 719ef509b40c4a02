// The row of storage: how long commits take and how they are grouped, what fails, and what is left
// of the disk.
import { distribution, lines, row } from "./panels.js";
import { mean, of, ofStores, quantile, rate } from "./selection.js";

const CALLS = "holdfast_store_call_duration_seconds";
const COMMIT = 'call="Commit"';

// The part of the store's file system that is free.
export const FREE = `${of("holdfast_files_available_bytes")} / ${of("holdfast_files_size_bytes")}`;

export function storageRow() {
  return row("Storage", [
    lines({
      title: "Time of a commit",
      description: "What the store takes for a change, without the call's wait for a worker.",
      unit: "s",
      width: 8,
      limits: { warning: 0.1, critical: 1 },
      queries: [0.5, 0.95, 0.99].map((q) => [quantile(q, CALLS, [], COMMIT), `${q * 100} %`]),
    }),
    distribution({
      title: "Distribution of commits",
      description: "Commits a second by the time that they took in the store.",
      unit: "s",
      width: 8,
      queries: [[`sum by (le) (${rate(`${CALLS}_bucket`, COMMIT)})`, "{{le}}"]],
    }),
    lines({
      title: "99 % of the store's calls within",
      description: "By call of the store. Reads of long histories take longest.",
      unit: "s",
      width: 8,
      limits: { warning: 1, critical: 5 },
      queries: [[quantile(0.99, CALLS, ["call"]), "{{call}}"]],
    }),
    lines({
      title: "Changes by result",
      description:
        "Applied; repeated: the reply was stored already; moved: another change came first, and" +
        " it is decided again; refused.",
      unit: "ops",
      width: 8,
      queries: [[`sum by (result) (${rate("holdfast_store_commits_total")})`, "{{result}}"]],
    }),
    lines({
      title: "Changes in a group",
      description:
        "Changes that one sync or one statement carries. More load makes larger groups; their" +
        " size shows how much a sync is shared.",
      unit: "short",
      width: 8,
      queries: [
        [mean("holdfast_store_group_changes"), "mean"],
        [quantile(0.95, "holdfast_store_group_changes", []), "95 %"],
      ],
    }),
    lines({
      title: "Bytes of a group",
      description: "Bytes of the changes that one sync or one statement carries.",
      unit: "bytes",
      width: 8,
      queries: [
        [mean("holdfast_store_group_bytes"), "mean"],
        [quantile(0.95, "holdfast_store_group_bytes", []), "95 %"],
      ],
    }),
    lines({
      title: "Errors of the store",
      description:
        "Calls of the store that answered an error. SESSION_NOT_FOUND is a client's; for" +
        " STORE_UNAVAILABLE, STORAGE_FULL and DAMAGED see docs/operations.md.",
      unit: "ops",
      width: 8,
      limits: { warning: 0.1, critical: 1 },
      queries: [
        [`sum by (call,reason) (${rate("holdfast_store_errors_total")})`, "{{call}} {{reason}}"],
      ],
    }),
    lines({
      title: "Unfinished writes cut off",
      description:
        "Over files, since the server's start: writes that a killed server had begun, cut off when" +
        " their session was used again. Nothing of them was acknowledged. If no server was killed" +
        " and no machine lost power, look at the disk.",
      unit: "short",
      width: 8,
      queries: [[of("holdfast_store_tails_cut_total"), "{{instance}}"]],
    }),
    lines({
      title: "Maintenance of the files",
      description:
        "Over files: a log_switch for each filled file of the write-ahead log, a rotation for each" +
        " journal that is sealed, a compaction for sealed journals that are written anew. They come" +
        " with the bytes that are written; rotations without compactions fill the disk.",
      unit: "ops",
      width: 8,
      queries: [[`sum by (work) (${rate("holdfast_files_maintenance_total")})`, "{{work}}"]],
    }),
    lines({
      title: "Free part of the disk",
      description:
        "Over files: what the server's user may still write, of the whole file system. At zero" +
        " changes are refused with STORAGE_FULL.",
      unit: "percentunit",
      width: 8,
      limits: { warning: 0.2, critical: 0.1 },
      queries: [[FREE, "{{instance}}"]],
    }),
    lines({
      title: "Size of the database",
      description: "Over PostgreSQL: the database on disk, at most two minutes old.",
      unit: "bytes",
      width: 8,
      queries: [[ofStores(of("holdfast_postgres_database_size_bytes"), "job"), "{{job}}"]],
    }),
  ]);
}
