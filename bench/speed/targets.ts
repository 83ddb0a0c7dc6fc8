/**
 * The targets, as ratios. Each ratio is taken within a run, where contenders are measured side by side, and the median counts:
 * a disturbance of some minutes then affects both sides of a ratio.
 */
import { median } from "../lib/report.ts";
import { AGAIN, BARE_BUN, BARE_C, BARE_JSON, BEFORE, LOADS, PARLEY } from "./loads.ts";

/** A load's measurement by contender, of one run; undefined if it was not measured. */
export type Measured = (load: string, contender: string) => number | undefined;

export interface Target {
  readonly text: string;
  readonly ratio: (measured: Measured) => number | undefined;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** The ratio of a program to itself; its distance from 1 is added to what the bound allows. */
  readonly control?: (measured: Measured) => number | undefined;
  /** One measurement differs from the next by more than what is looked for: the largest distance of the control counts, not the median. */
  readonly isScattered?: boolean;
}

export interface Verdict {
  readonly text: string;
  readonly bound: string;
  /** undefined: its comparison was not available. */
  readonly ratio: number | undefined;
  /** One ratio per run. */
  readonly least: number;
  readonly most: number;
  readonly holds: boolean | undefined;
}

const over =
  (load: string, contender: string, self = PARLEY) =>
  (measured: Measured): number | undefined => {
    const [ours, theirs] = [measured(load, self), measured(load, contender)];
    return ours !== undefined && theirs !== undefined ? ours / theirs : undefined;
  };

const against = (load: string, contender: string, atLeast: number): Target => ({
  text: `(${load}) against ${contender}`,
  ratio: over(load, contender),
  atLeast,
});

/** How much more a delivery to 10,000 costs than to 100, and that growth divided by the control's. */
const growth = (measured: Measured): number | undefined => {
  const of = (contender: string): number => (measured("a100", contender) ?? 0) / (measured("a10000", contender) ?? 0);
  const ratio = of(PARLEY) / of(BARE_C);
  return Number.isFinite(ratio) ? ratio : undefined;
};

/** Messages in one channel, one, 4 and 32 in flight, and in many small channels. */
const FAN_OUTS = ["a", "b4", "b32", "c"] as const;
const fanOuts = (contender: string, atLeast: number): Target[] =>
  FAN_OUTS.map((load) => against(load, contender, atLeast));

const CONNECTION_BYTES = 3000;

/**
 * The kernel's `send` takes most of a delivery, for every server, so a fixed lead over another server may be out of reach of any
 * program. What can be reached is measured in the same run: the C loop, and the runtime's own topics.
 */
const TARGETS: readonly Target[] = [
  ...fanOuts(BARE_BUN, 0.9),
  ...fanOuts("NATS", 2),
  ...fanOuts("Centrifugo", 1.8),
  against("a", "NATS, Debian's", 2),
  // (Parley / other) / (bare C / other): the other server cancels out, so this is the lead over each of them.
  { text: "(a) lead over nchan and Socket.IO, as a share of bare C's lead", ratio: over("a", BARE_C), atLeast: 0.95 },
  against("c", BARE_C, 0.7),
  { text: `(k) user CPU, 1 subscriber, against ${BARE_JSON}`, ratio: over("k1", BARE_JSON), atMost: 2.5 },
  { text: `(k) user CPU, 10 subscribers, against ${BARE_JSON}`, ratio: over("k10", BARE_JSON), atMost: 2.5 },
  against("d1", BARE_JSON, 0.8),
  against("d32", BARE_JSON, 0.5),
  against("d32", "Socket.IO", 3),
  against("f", "Socket.IO", 3),
  {
    text: `(g) bytes per connection, of ${CONNECTION_BYTES}`,
    ratio: (measured) => (measured("g", PARLEY) ?? Number.NaN) / CONNECTION_BYTES,
    atMost: 1,
  },
  { text: `(h) p99 against ${BARE_BUN}`, ratio: over("h", BARE_BUN), atMost: 3 },
  { text: "(a) growth of a delivery's cost, 100 to 10,000, against bare C's", ratio: growth, atMost: 1.2 },
];

/** How much further than the other tree is from itself. */
const SAME = 0.03;

/** If Parley of another source tree was measured too: not slower than that. */
const NOT_SLOWER: readonly Target[] = [
  ...LOADS.map(({ id, isBetterLow }) => ({
    text: `(${id}) against ${BEFORE}`,
    ratio: over(id, BEFORE),
    control: over(id, BEFORE, AGAIN),
    ...(isBetterLow ? { atMost: 1 + SAME } : { atLeast: 1 - SAME }),
  })),
  {
    text: `(g) bytes per connection against ${BEFORE}`,
    ratio: over("g", BEFORE),
    control: over("g", BEFORE, AGAIN),
    // 26 measurements of each of two versions were 2,125 to 2,793 bytes; only their means, 2 % apart, say something.
    isScattered: true,
    atMost: 1 + SAME,
  },
];

/** One `Measured` per run. */
export const judge = (runs: readonly Measured[], isAgainstBefore: boolean): Verdict[] =>
  (isAgainstBefore ? NOT_SLOWER : TARGETS).map((target) => {
    const { text, ratio, control } = target;
    const ratios = known(runs.map(ratio));
    const selves = control ? known(runs.map(control)) : [];
    const distances = (target.isScattered ? selves : selves.length > 0 ? [median(selves)] : []).map((one) =>
      Math.abs(1 - one),
    );
    const apart = Math.max(0, ...distances);
    const atLeast = target.atLeast === undefined ? 0 : target.atLeast - apart;
    const atMost = target.atMost === undefined ? Number.POSITIVE_INFINITY : target.atMost + apart;
    const found = ratios.length > 0 ? median(ratios) : undefined;
    return {
      text,
      bound: target.atLeast === undefined ? `at most ${rounded(atMost)}` : `at least ${rounded(atLeast)}`,
      ratio: found,
      least: Math.min(...ratios),
      most: Math.max(...ratios),
      holds: found === undefined ? undefined : found >= atLeast && found <= atMost,
    };
  });

const known = (ratios: readonly (number | undefined)[]): number[] =>
  ratios.filter((one) => one !== undefined && !Number.isNaN(one)) as number[];

const rounded = (bound: number): number => Math.round(bound * 1000) / 1000;
