/**
 * The part of PromQL that the dashboard uses, evaluated over two scrapes: selectors, rate, sum / max / min / count with `by`,
 * histogram_quantile, time(), numbers, and arithmetic. A form it does not know is an error, and is not guessed.
 */
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

const OPERATORS: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

const TOKEN = /\s*([a-zA-Z_:][\w:]*|\d+(?:\.\d+)?|"(?:[^"\\]|\\.)*"|=~|!~|!=|[-+*/(){}[\],=])/y;

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
  private readonly tokens: string[];
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly before: Scrape,
    private readonly after: Scrape,
  ) {
    this.tokens = tokenize(text);
  }

  evaluate(): Value {
    const value = this.sum();
    if (this.at < this.tokens.length) throw this.wrong();
    return value;
  }

  private sum(): Value {
    let left = this.product();
    while (this.is("+") || this.is("-")) left = combine(this.take(), left, this.product());
    return left;
  }

  private product(): Value {
    let left = this.operand();
    while (this.is("*") || this.is("/")) left = combine(this.take(), left, this.operand());
    return left;
  }

  private operand(): Value {
    const word = this.take();
    if (/^\d/.test(word)) return Number(word);
    if (word === "(") return this.closing(this.sum());
    if (word === "time") {
      this.expect("(");
      return this.closing(this.after.atSeconds);
    }
    if (word === "rate") return this.rate();
    if (word === "histogram_quantile") return this.quantile();
    const aggregation = AGGREGATIONS[word];
    if (aggregation) return this.aggregate(aggregation);
    if (!/^[a-zA-Z_:]/.test(word) || this.is("(")) throw this.wrong();
    return this.select(word)(this.after);
  }

  /** metric{label="…",…} */
  private select(metric: string): (scrape: Scrape) => Sample[] {
    const matchers: Matcher[] = [];
    if (this.is("{")) {
      this.take();
      while (!this.is("}")) {
        matchers.push(this.matcher());
        if (this.is(",")) this.take();
      }
      this.take();
    }
    this.asked.push({ metric, labels: matchers.map(({ label }) => label) });
    return ({ samples }) =>
      samples.filter(
        ({ name, labels }) => name === metric && matchers.every(({ label, fits }) => fits(labels[label] ?? "")),
      );
  }

  private matcher(): Matcher {
    const label = this.take();
    const operator = this.take();
    const text = JSON.parse(this.take()) as string;
    const whole = new RegExp(`^(?:${text})$`);
    if (operator === "=") return { label, fits: (value) => value === text };
    if (operator === "!=") return { label, fits: (value) => value !== text };
    if (operator === "=~") return { label, fits: (value) => whole.test(value) };
    if (operator === "!~") return { label, fits: (value) => !whole.test(value) };
    throw this.wrong();
  }

  /** Per second between the two scrapes, for series that are in both: a rate needs two samples. */
  private rate(): Point[] {
    this.expect("(");
    const series = this.select(this.take());
    for (const word of ["[", "__range", "]"]) this.expect(word);
    const seconds = this.after.atSeconds - this.before.atSeconds;
    const earlier = new Map(series(this.before).map(({ labels, value }) => [keyOf(labels), value]));
    const points = series(this.after).flatMap(({ labels, value }) => {
      const start = earlier.get(keyOf(labels));
      return start === undefined ? [] : [{ labels, value: (value - start) / seconds }];
    });
    return this.closing(points);
  }

  private aggregate(aggregation: Aggregation): Point[] {
    let by: string[] = [];
    if (this.is("by")) {
      this.take();
      by = this.names();
    }
    this.expect("(");
    const inner = this.closing(vector(this.sum()));
    const groups = Map.groupBy(inner, ({ labels }) => keyOf(only(labels, by)));
    if (by.length > 0) this.asked.push({ metric: "", labels: by });
    return [...groups.values()].map((group) => ({
      labels: only(group[0]?.labels ?? {}, by),
      value: aggregation(group.map(({ value }) => value)),
    }));
  }

  private names(): string[] {
    const all: string[] = [];
    this.expect("(");
    while (!this.is(")")) {
      all.push(this.take());
      if (this.is(",")) this.take();
    }
    return this.closing(all);
  }

  private quantile(): Point[] {
    this.expect("(");
    const rank = Number(this.take());
    this.expect(",");
    const buckets = this.closing(vector(this.sum()));
    const groups = Map.groupBy(buckets, ({ labels: { le, ...rest } }) => keyOf(rest));
    return [...groups.values()].map((group) => {
      const { le, ...labels } = group[0]?.labels ?? {};
      return { labels, value: quantileOf(rank, group) };
    });
  }

  private closing<T>(value: T): T {
    this.expect(")");
    return value;
  }

  /** Whether the next token is this one. */
  private is(word: string): boolean {
    return this.tokens[this.at] === word;
  }

  private take(): string {
    const token = this.tokens[this.at++];
    if (token === undefined) throw this.wrong();
    return token;
  }

  private expect(word: string): void {
    if (this.take() !== word) throw this.wrong();
  }

  private wrong(): Error {
    const near = this.tokens.slice(Math.max(0, this.at - 2), this.at + 1).join(" ");
    return new Error(`this evaluator cannot read the expression near "${near}": ${this.text}`);
  }
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex;
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new Error(`this evaluator cannot read ${JSON.stringify(text.slice(from))}`);
    tokens.push(token);
  }
  return tokens;
}

const keyOf = (labels: Labels): string => JSON.stringify(Object.entries(labels).sort());

const only = (labels: Labels, names: readonly string[]): Labels =>
  Object.fromEntries(names.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])));

function vector(value: Value): readonly Point[] {
  if (typeof value === "number") throw new Error("a vector was expected, not a number");
  return value;
}

/** Elements of two vectors are combined if their labels are equal. */
function combine(operator: string, left: Value, right: Value): Value {
  const apply = OPERATORS[operator] as (a: number, b: number) => number;
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
