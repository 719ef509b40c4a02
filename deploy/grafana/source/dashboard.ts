// What both dashboards have: variables, the links between them, and annotations.
import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import {
  AnnotationQueryBuilder,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  RowBuilder,
} from "@grafana/grafana-foundation-sdk/dashboard";
import type { Row } from "./panels.js";
import { METRICS, of, ofServers, variables } from "./selection.js";

const STEP = "60s";

// A server's start, at the time that the server reports.
function starts(): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name("Starts")
    .datasource(METRICS)
    .enable(true)
    .iconColor("blue")
    .expr(`${ofServers("process_start_time_seconds")} * 1000`)
    .step(STEP)
    .useValueForTime(true)
    .titleFormat("A server started")
    .textFormat("{{instance}}");
}

// The minute in which a server saw a newer timeline of its database.
function failovers(): AnnotationQueryBuilder {
  const timeline = of("holdfast_postgres_timeline");
  const newest = (value: string) => `max by (namespace,job) (${value})`;
  return new AnnotationQueryBuilder()
    .name("Failovers")
    .datasource(METRICS)
    .enable(true)
    .iconColor("red")
    .expr(`${newest(timeline)} > ${newest(`${timeline} offset 1m`)}`)
    .step(STEP)
    .titleFormat("The database failed over")
    .textFormat("{{job}}");
}

// A dashboard with the address /d/`uid`, and a link to the `other` one.
export function dashboard(
  uid: string,
  title: string,
  description: string,
  other: { uid: string; title: string },
): DashboardBuilder {
  const built = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(["holdfast"])
    .timezone("browser")
    .editable()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: "now-1h", to: "now" })
    .refresh("30s")
    .link(
      new DashboardLinkBuilder(other.title)
        .type(DashboardLinkType.Link)
        .url(`/d/${other.uid}`)
        .icon("dashboard")
        .tooltip(other.title)
        .includeVars(true)
        .keepTime(true),
    )
    .annotation(starts())
    .annotation(failovers());
  for (const variable of variables()) built.withVariable(variable);
  return built;
}

// Lays the rows out, and numbers the panels in their order. Links and annotations are shown and
// not hidden in a menu, which is what the SDK would make of them.
export function build(built: DashboardBuilder, rows: Row[]): Dashboard {
  for (const { title, panels } of rows) {
    built.withRow(new RowBuilder(title).collapsed(false));
    for (const panel of panels) built.withPanel(panel);
  }
  const made = built.build();
  made.panels?.forEach((panel, index) => (panel.id = index + 1));
  for (const shown of [...(made.links ?? []), ...(made.annotations.list ?? [])]) {
    delete shown.placement;
  }
  return made;
}
