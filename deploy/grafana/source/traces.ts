// Panels of traces: tables of spans, the states of a session over time, and one whole trace.
import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import type { Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import { MappingType, PanelBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { PanelBuilder as TimelineBuilder } from "@grafana/grafana-foundation-sdk/statetimeline";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { DataqueryBuilder, SearchTableType } from "@grafana/grafana-foundation-sdk/tempo";
import { TRACES } from "./selection.js";

export const SESSIONS_UID = "holdfast-sessions";
export const OPERATIONS_UID = "holdfast-operations";

// The attributes of a span that the dashboards name.
export const FROM = "holdfast.transition.from";
export const TO = "holdfast.transition.to";
export const TRIGGER = "holdfast.transition.trigger";
export const REVISION = "holdfast.session.revision";
export const SESSION = "session.id";

const SPANS = 200; // at most so many traces, and spans of each, in a table

const KEPT = "${__url_time_range}&${metrics:queryparam}&${traces:queryparam}";
const BOARD = `/d/${SESSIONS_UID}?${KEPT}`;

export interface Spans {
  title: string;
  description: string;
  width: number;
  query: string;
}

function search(query: string): DataqueryBuilder {
  return new DataqueryBuilder()
    .refId("A")
    .queryType("traceql")
    .query(query)
    .tableType(SearchTableType.Spans)
    .limit(SPANS)
    .spss(SPANS)
    .filters([]);
}

// Spans, newest first. A session leads to itself, and a span to its trace, on the dashboard of
// sessions.
export function spans(shown: Spans): Builder<Panel> {
  const session = "var-session=${__value.raw:percentencode}";
  const trace =
    "var-trace=${__data.fields.traceIdHidden}" +
    `&var-session=\${__data.fields["${SESSION}"]:percentencode}`;
  return new TableBuilder()
    .title(shown.title)
    .description(shown.description)
    .datasource(TRACES)
    .height(9)
    .span(shown.width)
    .overrideByName("duration", [{ id: "unit", value: "ns" }])
    .overrideByName("traceService", [{ id: "custom.hidden", value: true }])
    .overrideByName(SESSION, [
      { id: "links", value: [{ title: "This session", url: `${BOARD}&${session}` }] },
    ])
    .overrideByName("traceName", [
      { id: "links", value: [{ title: "This trace", url: `${BOARD}&${trace}` }] },
    ])
    .withTarget(search(shown.query));
}

// The states that a session went into, one behind the other, each until the next one.
export function states(shown: Spans): Builder<Panel> {
  const colors = { IDLE: "blue", ACTIVE: "green", PERSISTED: "purple", RESUMED: "yellow" };
  const options = Object.fromEntries(
    Object.entries({ ...colors, CLOSED: "gray", DELETED: "red" }).map(([state, color], index) => [
      state,
      { text: state, color, index },
    ]),
  );
  return new TimelineBuilder()
    .title(shown.title)
    .description(shown.description)
    .datasource(TRACES)
    .height(5)
    .span(shown.width)
    .mergeValues(true)
    .rowHeight(0.8)
    .mappings([{ type: MappingType.ValueToText, options }])
    .withTransformation({
      id: "filterFieldsByName",
      options: { include: { names: ["time", "Start time", TO] } },
    })
    .withTransformation({
      id: "sortBy",
      options: { fields: {}, sort: [{ field: "Start time", desc: false }] },
    })
    .withTarget(search(shown.query));
}

// The trace whose id the variable `trace` has.
export function oneTrace(shown: Omit<Spans, "query">): Builder<Panel> {
  return new PanelBuilder()
    .type("traces")
    .title(shown.title)
    .description(shown.description)
    .datasource(TRACES)
    .height(14)
    .span(shown.width)
    .withTarget(
      new DataqueryBuilder().refId("A").queryType("traceql").query("${trace}").filters([]),
    );
}
