/** The results as the tables of docs/performance.md, ready to be pasted. */
import { BARE_BUN, BARE_JSON, PARLEY } from "./loads.ts";
import type { Measured, Verdict } from "./targets.ts";

export interface Page {
  readonly contenders: readonly string[];
  readonly rows: readonly { readonly id: string; readonly title: string; readonly unit: string }[];
  readonly medians: Measured;
  readonly verdicts: readonly Verdict[];
}

/** The first table: what a reader wants to know, and for which load. */
const SUMMARY: readonly { readonly title: string; readonly load: string; readonly limit: string }[] = [
  { title: "one channel with 1,000 subscribers, one message at a time: deliveries", load: "a", limit: BARE_BUN },
  { title: "the same, 32 messages in flight: deliveries", load: "b32", limit: BARE_BUN },
  { title: "100 channels with 10 subscribers: deliveries", load: "c", limit: BARE_BUN },
  { title: "direct messages between 500 pairs: deliveries", load: "d1", limit: BARE_JSON },
  { title: "connect, authenticate, subscribe, get the roster: connects", load: "f", limit: BARE_BUN },
];
const CHOICES = ["Centrifugo", "NATS", "nginx with nchan", "Socket.IO"];

export function markdown({ contenders, rows, medians, verdicts }: Page): string {
  const choices = CHOICES.filter((name) => contenders.includes(name));
  const summary = SUMMARY.map(({ title, load, limit }) => [
    title,
    ...[PARLEY, limit, ...choices].map((name) => shown(medians(load, name))),
  ]);
  const loads = rows.map(({ id, title, unit }) => [
    `(${id}) ${title} (${unit})`,
    ...contenders.map((name) => shown(medians(id, name))),
  ]);
  const targets = verdicts.map(({ text, bound, ratio, least, most, holds }) => [
    text,
    bound,
    ratio?.toFixed(2) ?? "not measured",
    ratio === undefined ? "" : `${least.toFixed(2)} to ${most.toFixed(2)}`,
    holds === undefined ? "" : holds ? "holds" : "MISSED",
  ]);
  return [
    tableOf(["work per CPU-second", PARLEY, BARE_BUN, ...choices], summary),
    tableOf(["load", ...contenders], loads),
    tableOf(["target", "bound", "measured", "runs", ""], targets),
  ].join("\n\n");
}

const line = (cells: readonly string[]): string =>
  `|${cells.map((cell) => (cell === "" ? " |" : ` ${cell} |`)).join("")}`;

const tableOf = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(heads), `|${heads.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");

function shown(value: number | undefined): string {
  if (value === undefined) return "-";
  return value < 100 ? value.toFixed(2) : Math.round(value).toLocaleString("en");
}
