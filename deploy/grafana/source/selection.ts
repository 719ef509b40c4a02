// What a dashboard looks at: its variables, and the selectors of metrics that follow them.
//
// Metrics have no label for the kind of the store, so there is no variable for it: a panel of one
// kind is empty for servers of the other.
import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";

export const METRICS = { type: "prometheus", uid: "${metrics}" };
export const TRACES = { type: "tempo", uid: "${traces}" };

// The label is absent where Prometheus does not discover servers in Kubernetes. `.*` matches an
// absent label too.
const SELECTED = 'namespace=~"$namespace",job=~"$job",instance=~"$instance"';

// The series of `metric` of the servers that are selected. `matchers` are further ones.
export function of(metric: string, ...matchers: string[]): string {
  return `${metric}{${[SELECTED, ...matchers].join(",")}}`;
}

// The series of a metric that other programs have too, of servers of Holdfast alone.
export function ofServers(metric: string): string {
  return `(${of(metric)} and on (namespace,job,instance) ${of("holdfast_build_info")})`;
}

// The increase of a counter a second.
export function rate(metric: string, ...matchers: string[]): string {
  return `rate(${of(metric, ...matchers)}[$__rate_interval])`;
}

// A quantile of a histogram, by these labels.
export function quantile(q: number, metric: string, by: string[], ...matchers: string[]): string {
  const grouped = ["le", ...by].join(",");
  return `histogram_quantile(${q}, sum by (${grouped}) (${rate(`${metric}_bucket`, ...matchers)}))`;
}

// The mean of what a histogram has counted.
export function mean(metric: string, ...matchers: string[]): string {
  const total = rate(`${metric}_sum`, ...matchers);
  return `sum(${total}) / sum(${rate(`${metric}_count`, ...matchers)})`;
}

// A gauge that every server of a store reports alike, added up over stores. The servers of a store
// have one job in common.
export function ofStores(value: string, ...by: string[]): string {
  const outer = by.length ? `sum by (${by.join(",")})` : "sum";
  const each = new Set(["namespace", "job", ...by]);
  return `${outer} (max by (${[...each].join(",")}) (${value}))`;
}

function labelVariable(name: string, title: string, matchers: string) {
  const values = `label_values(holdfast_build_info{${matchers}}, ${name})`;
  return new QueryVariableBuilder(name)
    .label(title)
    .description(`The label ${name} of the servers that are shown`)
    .datasource(METRICS)
    .query({ query: values, refId: name })
    .definition(values)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue(".*")
    .current({ text: ["All"], value: ["$__all"] });
}

export function variables() {
  return [
    new DatasourceVariableBuilder("metrics").label("Metrics").type("prometheus"),
    new DatasourceVariableBuilder("traces").label("Traces").type("tempo"),
    labelVariable("namespace", "Namespace", ""),
    labelVariable("job", "Job", 'namespace=~"$namespace"'),
    labelVariable("instance", "Server", 'namespace=~"$namespace",job=~"$job"'),
  ];
}

export function textVariable(name: string, title: string, description: string) {
  return new TextBoxVariableBuilder(name).label(title).description(description).defaultValue("");
}
