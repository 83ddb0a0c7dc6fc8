/**
 * Evaluates the part of PromQL that the dashboard uses over two scrapes: selectors, rate, sum / max / min / count with `by`,
 * histogram_quantile, time(), numbers, and arithmetic. Prometheus's own grammar reads it; there is no package that evaluates it. A form
 * that this evaluator does not know is an error, and is not guessed.
 */
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";
import type { Labels, Sample, Scrape } from "./exposition.ts";

export interface Point {
  readonly labels: Labels;
  readonly value: number;
}

export type Value = number | readonly Point[];

type Aggregation = (values: readonly number[]) => number;

const AGGREGATIONS: Readonly<Record<string, Aggregation>> = {
  sum: (values) => values.reduce((a, b) => a + b, 0),
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
  count: (values) => values.length,
};

type Operator = (a: number, b: number) => number;

const OPERATORS: Readonly<Record<string, Operator>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

/** The metrics and labels that an expression uses. */
export interface Asked {
  readonly metric: string;
  readonly labels: string[];
}

interface Matcher {
  readonly label: string;
  readonly fits: (value: string) => boolean;
}

export class Query {
  /** Collected during evaluation: every metric it names, and every label by which it selects or groups. */
  readonly asked: Asked[] = [];

  constructor(
    private readonly text: string,
    private readonly before: Scrape,
    private readonly after: Scrape,
  ) {}

  evaluate(): Value {
    const { topNode } = parser.parse(this.text);
    topNode.cursor().iterate((node) => {
      if (node.type.isError) throw this.unread(node.node);
    });
    return this.valueOf(this.only(topNode));
  }

  private valueOf(node: SyntaxNode): Value {
    switch (node.name) {
      case "NumberDurationLiteral":
        return Number(this.textOf(node));
      case "ParenExpr":
        return this.valueOf(this.only(node));
      case "BinaryExpr":
        return this.binary(node);
      case "VectorSelector":
        return this.select(node)(this.after);
      case "AggregateExpr":
        return this.aggregate(node);
      case "FunctionCall":
        return this.call(node);
      default:
        throw this.unread(node);
    }
  }

  private binary(node: SyntaxNode): Value {
    const [left, operator, right, ...more] = childrenOf(node);
    const apply = operator && OPERATORS[this.textOf(operator)];
    if (!left || !right || !apply || more.length > 0) throw this.unread(node);
    return combine(apply, this.valueOf(left), this.valueOf(right));
  }

  /** metric{label="…",…} */
  private select(node: SyntaxNode): (scrape: Scrape) => Sample[] {
    const metric = this.textOf(this.child(node, "Identifier"));
    const matchers = childrenOf(node.getChild("LabelMatchers")).map((one) => this.matcher(one));
    this.asked.push({ metric, labels: matchers.map(({ label }) => label) });
    return ({ samples }) =>
      samples.filter(
        ({ name, labels }) => name === metric && matchers.every(({ label, fits }) => fits(labels[label] ?? "")),
      );
  }

  private matcher(node: SyntaxNode): Matcher {
    const label = this.textOf(this.child(node, "LabelName"));
    const text = JSON.parse(this.textOf(this.child(node, "StringLiteral"))) as string;
    const whole = new RegExp(`^(?:${text})$`);
    switch (this.textOf(this.child(node, "MatchOp"))) {
      case "=":
        return { label, fits: (value) => value === text };
      case "!=":
        return { label, fits: (value) => value !== text };
      case "=~":
        return { label, fits: (value) => whole.test(value) };
      case "!~":
        return { label, fits: (value) => !whole.test(value) };
      default:
        throw this.unread(node);
    }
  }

  private call(node: SyntaxNode): Value {
    const given = childrenOf(this.child(node, "FunctionCallBody"));
    const [first, second] = given;
    switch (`${this.textOf(this.child(node, "FunctionIdentifier"))} ${given.length}`) {
      case "time 0":
        return this.after.atSeconds;
      case "rate 1":
        if (first?.name === "MatrixSelector") return this.rate(first);
        break;
      case "histogram_quantile 2":
        if (first && second) return quantiles(Number(this.textOf(first)), vector(this.valueOf(second)));
    }
    throw this.unread(node);
  }

  /** Per second between the two scrapes, for series that are in both: a rate needs two samples. */
  private rate(node: SyntaxNode): Point[] {
    const series = this.select(this.child(node, "VectorSelector"));
    const seconds = this.after.atSeconds - this.before.atSeconds;
    const earlier = new Map(series(this.before).map(({ labels, value }) => [keyOf(labels), value]));
    return series(this.after).flatMap(({ labels, value }) => {
      const start = earlier.get(keyOf(labels));
      return start === undefined ? [] : [{ labels, value: (value - start) / seconds }];
    });
  }

  private aggregate(node: SyntaxNode): Point[] {
    const aggregation = AGGREGATIONS[this.textOf(this.child(node, "AggregateOp"))];
    const modifier = node.getChild("AggregateModifier");
    if (!aggregation || (modifier && !modifier.getChild("By"))) throw this.unread(node);
    const by = childrenOf(modifier?.getChild("GroupingLabels")).map((label) => this.textOf(label));
    const inner = vector(this.valueOf(this.only(this.child(node, "FunctionCallBody"))));
    const groups = Map.groupBy(inner, ({ labels }) => keyOf(only(labels, by)));
    if (by.length > 0) this.asked.push({ metric: "", labels: by });
    return [...groups.values()].map((group) => ({
      labels: only(group[0]?.labels ?? {}, by),
      value: aggregation(group.map(({ value }) => value)),
    }));
  }

  private child(node: SyntaxNode, name: string): SyntaxNode {
    const found = node.getChild(name);
    if (!found) throw this.unread(node);
    return found;
  }

  private only(node: SyntaxNode): SyntaxNode {
    const [child, ...more] = childrenOf(node);
    if (!child || more.length > 0) throw this.unread(node);
    return child;
  }

  private textOf({ from, to }: SyntaxNode): string {
    return this.text.slice(from, to);
  }

  private unread(node: SyntaxNode): Error {
    return new Error(`this evaluator cannot read "${this.textOf(node)}" (${node.name}): ${this.text}`);
  }
}

/** Without the punctuation that the grammar leaves without a name. */
function childrenOf(node: SyntaxNode | null | undefined): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node?.firstChild; child; child = child.nextSibling) if (/^\w/.test(child.name)) children.push(child);
  return children;
}

function quantiles(rank: number, buckets: readonly Point[]): Point[] {
  const groups = Map.groupBy(buckets, ({ labels: { le, ...rest } }) => keyOf(rest));
  return [...groups.values()].map((group) => {
    const { le, ...labels } = group[0]?.labels ?? {};
    return { labels, value: quantileOf(rank, group) };
  });
}

const keyOf = (labels: Labels): string => JSON.stringify(Object.entries(labels).sort());

const only = (labels: Labels, names: readonly string[]): Labels =>
  Object.fromEntries(names.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])));

function vector(value: Value): readonly Point[] {
  if (typeof value === "number") throw new Error("a vector was expected, not a number");
  return value;
}

/** Elements of two vectors are combined if their labels are equal. */
function combine(apply: Operator, left: Value, right: Value): Value {
  if (typeof left === "number" && typeof right === "number") return apply(left, right);
  if (typeof left === "number") return vector(right).map((one) => ({ ...one, value: apply(left, one.value) }));
  if (typeof right === "number") return left.map((one) => ({ ...one, value: apply(one.value, right) }));
  const others = new Map(right.map(({ labels, value }) => [keyOf(labels), value]));
  return left.flatMap(({ labels, value }) => {
    const other = others.get(keyOf(labels));
    return other === undefined ? [] : [{ labels, value: apply(value, other) }];
  });
}

/** As Prometheus computes it: linear within the bucket; values in +Inf count as the highest finite bound. */
function quantileOf(rank: number, group: readonly Point[]): number {
  const buckets = group
    .map(({ labels, value }) => ({ bound: labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le), value }))
    .sort((a, b) => a.bound - b.bound);
  const total = buckets.at(-1)?.value ?? 0;
  if (total === 0 || buckets.length < 2) return Number.NaN;
  const wanted = rank * total;
  const at = buckets.findIndex(({ value }) => value >= wanted);
  const bucket = buckets[at] as { bound: number; value: number };
  const below = buckets[at - 1] ?? { bound: 0, value: 0 };
  if (bucket.bound === Number.POSITIVE_INFINITY) return below.bound;
  return below.bound + ((bucket.bound - below.bound) * (wanted - below.value)) / (bucket.value - below.value);
}
