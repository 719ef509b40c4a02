// Parses queries with the grammars of their languages. Standard input is
// {"promql": [text...], "traceql": [text...]}; standard output has for each text what it names.
import { readFileSync } from "node:fs";
import { parser as traceql } from "@grafana/lezer-traceql";
import { parser as promql } from "@prometheus-io/lezer-promql";

const nodes = (tree) => {
  const found = [];
  tree.cursor().iterate((ref) => void found.push(ref.node));
  return found;
};
const unquoted = (text) => text.slice(1, -1);

function readPromql(text) {
  // What is missing where there is an error is empty.
  const of = (node) => (node ? text.slice(node.from, node.to) : "");
  const all = nodes(promql.parse(text));
  const named = (name) => all.filter((node) => node.name === name);
  const matchers = (selector) =>
    nodes(selector)
      .filter((node) => node.name === "UnquotedLabelMatcher")
      .map((node) => ({
        label: of(node.getChild("LabelName")),
        operator: of(node.getChild("MatchOp")),
        value: unquoted(of(node.getChild("StringLiteral"))),
      }));
  return {
    errors: all.filter((node) => node.type.isError).map((node) => node.from),
    selectors: named("VectorSelector").map((node) => ({
      metric: of(node.getChild("Identifier")),
      matchers: matchers(node),
    })),
    grouped: named("GroupingLabels").flatMap((node) => node.getChildren("LabelName").map(of)),
    // The first text of these functions is the label that they make.
    made: named("FunctionCall")
      .filter((node) => /^label_(replace|join)\(/.test(of(node)))
      .map((node) => node.getChild("FunctionCallBody").getChildren("StringLiteral")[0])
      .map((made) => unquoted(of(made))),
    functions: named("FunctionIdentifier").map(of),
    operators: named("Or").map(of),
  };
}

function readTraceql(text) {
  const all = nodes(traceql.parse(text));
  return {
    errors: all.filter((node) => node.type.isError).map((node) => node.from),
    attributes: all
      .filter((node) => node.name === "AttributeField")
      .map((node) => text.slice(node.from, node.to)),
  };
}

const asked = JSON.parse(readFileSync(0, "utf8"));
const answer = (texts, read) => Object.fromEntries(texts.map((text) => [text, read(text)]));
console.log(
  JSON.stringify({
    promql: answer(asked.promql, readPromql),
    traceql: answer(asked.traceql, readTraceql),
  }),
);
