// The kinds of panels that the dashboards are made of. Each needs a title, a description, a unit
// and its queries; a query is its text and the name of its series.
import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import {
  GraphGradientMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  ReduceDataOptionsBuilder,
  StackingConfigBuilder,
  StackingMode,
  VizLegendOptionsBuilder,
  LegendDisplayMode,
  LegendPlacement,
} from "@grafana/grafana-foundation-sdk/common";
import type { Panel, ThresholdsConfig } from "@grafana/grafana-foundation-sdk/dashboard";
import {
  MappingType,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import * as heatmaps from "@grafana/grafana-foundation-sdk/heatmap";
import * as graphs from "@grafana/grafana-foundation-sdk/nodegraph";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import * as stats from "@grafana/grafana-foundation-sdk/stat";
import * as tables from "@grafana/grafana-foundation-sdk/table";
import * as series from "@grafana/grafana-foundation-sdk/timeseries";
import { METRICS } from "./selection.js";

export type Query = [expression: string, name: string];
export type Limits = { warning: number; critical: number };

export interface Shown {
  title: string;
  description: string;
  unit: string;
  width: number;
  queries: Query[];
  height?: number;
  // From `warning` on the value is orange, from `critical` on red, which may be the same. Where
  // `critical` is the smaller one, small values are bad.
  limits?: Limits;
}

const GREEN = "green";
const ORANGE = "orange";
const RED = "red";

export function thresholds(limits: Limits): Builder<ThresholdsConfig> {
  const { warning, critical } = limits;
  const steps =
    warning <= critical
      ? [
          { value: null, color: GREEN },
          ...(warning < critical ? [{ value: warning, color: ORANGE }] : []),
          { value: critical, color: RED },
        ]
      : [
          { value: null, color: RED },
          { value: critical, color: ORANGE },
          { value: warning, color: GREEN },
        ];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

function target([expression, name]: Query, index: number): DataqueryBuilder {
  const refId = String.fromCharCode("A".charCodeAt(0) + index);
  return new DataqueryBuilder().refId(refId).expr(expression).legendFormat(name).range();
}

export interface Row {
  title: string;
  panels: Builder<Panel>[];
}

export function row(title: string, panels: Builder<Panel>[]): Row {
  return { title, panels };
}

// Lines over time.
export function lines(shown: Shown & { stacked?: boolean }): Builder<Panel> {
  const panel = new series.PanelBuilder()
    .title(shown.title)
    .description(shown.description)
    .datasource(METRICS)
    .unit(shown.unit)
    .min(0)
    .height(8)
    .span(shown.width)
    .lineWidth(1)
    .fillOpacity(shown.stacked ? 40 : 8)
    .gradientMode(GraphGradientMode.None)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(["lastNotNull"]),
    )
    .targets(shown.queries.map(target));
  if (shown.stacked) panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  if (shown.limits) {
    panel
      .thresholds(thresholds(shown.limits))
      .thresholdsStyle(
        new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed),
      );
  }
  return panel;
}

// One value now, with a line of how it was.
export function stat(shown: Shown & { words?: string[] }): Builder<Panel> {
  const panel = new stats.PanelBuilder()
    .title(shown.title)
    .description(shown.description)
    .datasource(METRICS)
    .unit(shown.unit)
    .height(4)
    .span(shown.width)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(["lastNotNull"]))
    .targets(shown.queries.map(target));
  if (shown.limits) panel.thresholds(thresholds(shown.limits));
  if (shown.words) {
    const words = shown.words.map((text, value) => [String(value), { text, index: value }]);
    panel.mappings([{ type: MappingType.ValueToText, options: Object.fromEntries(words) }]);
  }
  return panel;
}

function instant(query: Query, index: number): DataqueryBuilder {
  return target(query, index).format(PromQueryFormat.Table).instant();
}

// A table of several queries whose labels are its columns. A column's title is the name of its
// query, or what `columns` says of its label.
export function table(shown: Shown & { columns: Record<string, string> }): Builder<Panel> {
  const named = Object.fromEntries(
    shown.queries.map(([, name], index) => {
      const letter = String.fromCharCode("A".charCodeAt(0) + index);
      return [shown.queries.length > 1 ? `Value #${letter}` : "Value", name];
    }),
  );
  const panel = new tables.PanelBuilder()
    .title(shown.title)
    .description(shown.description)
    .datasource(METRICS)
    .unit(shown.unit)
    .height(shown.height ?? 8)
    .span(shown.width)
    .targets(shown.queries.map(instant))
    .withTransformation({ id: "merge", options: {} })
    .withTransformation({
      id: "organize",
      options: {
        excludeByName: { Time: true },
        indexByName: {},
        renameByName: { ...shown.columns, ...named },
      },
    });
  if (shown.limits) panel.thresholds(thresholds(shown.limits));
  return panel;
}

// How a histogram's values are distributed, over time. The query's series are its buckets.
export function distribution(shown: Shown): Builder<Panel> {
  return new heatmaps.PanelBuilder()
    .title(shown.title)
    .description(shown.description)
    .datasource(METRICS)
    .height(8)
    .span(shown.width)
    .unit("cps")
    .calculate(false)
    .color(
      new heatmaps.HeatmapColorOptionsBuilder()
        .mode(heatmaps.HeatmapColorMode.Scheme)
        .scheme("Oranges")
        .steps(32),
    )
    .yAxis(new heatmaps.YAxisConfigBuilder().unit(shown.unit))
    .targets(
      shown.queries.map((query, index) => target(query, index).format(PromQueryFormat.Heatmap)),
    );
}

// Arrows between names. The panel reads the fields `id`, `source`, `target` and `mainstat`; a
// data source for Prometheus gives labels as fields, and names the value `Value`, which a
// calculation turns into a field of the right name.
export function arrows(shown: Shown): Builder<Panel> {
  return new graphs.PanelBuilder()
    .title(shown.title)
    .description(shown.description)
    .datasource(METRICS)
    .unit(shown.unit)
    .height(12)
    .span(shown.width)
    .edges(new graphs.EdgeOptionsBuilder().mainStatUnit(shown.unit))
    .nodes(new graphs.NodeOptionsBuilder().mainStatUnit(shown.unit))
    .targets(shown.queries.map(instant))
    .withTransformation({
      id: "calculateField",
      options: {
        mode: "reduceRow",
        reduce: { reducer: "sum" },
        alias: "mainstat",
        timeSeries: false,
      },
    });
}
