// The dashboard "Operations": what the servers answer, refuse, hold and use.
import { callsRow, serversRow } from "./calls.js";
import { build, dashboard } from "./dashboard.js";
import { databaseRow, filesRow, holdersRow, watchersRow } from "./stores.js";
import { connectionsRow, memoryRow, telemetryRow, workersRow } from "./resources.js";
import { OPERATIONS_UID, SESSIONS_UID } from "./traces.js";

export function operations() {
  const built = dashboard(
    OPERATIONS_UID,
    "Operations",
    "What the servers of Holdfast answer, refuse, hold and use. docs/operations.md says what each" +
      " row answers.",
    { uid: SESSIONS_UID, title: "Session transitions" },
  );
  return build(built, [
    serversRow(),
    callsRow(),
    workersRow(),
    memoryRow(),
    connectionsRow(),
    holdersRow(),
    watchersRow(),
    databaseRow(),
    filesRow(),
    telemetryRow(),
  ]);
}
