/** Counts what happened in a run. */
import type { Checker } from "./checker.ts";

/** How often each code occurred. */
export type Counts = Readonly<Record<string, number>>;

export interface Totals {
  /** Publishes and direct messages that were sent. */
  readonly sent: number;
  readonly acked: number;
  readonly refused: number;
  /** The connection ended before the answer, or the answer did not say. */
  readonly unknown: number;
  /** Answers that were errors, by code. */
  readonly errors: Counts;
  readonly deliveries: number;
  readonly presenceFrames: number;
  readonly reconnects: number;
  /** Subscribes that asked for a recovery and were acked. */
  readonly recoveries: number;
  /** Those of them with `recovered: false`. */
  readonly unrecovered: number;
  readonly replayed: number;
  /** Publishes that were repeated with the same id, and how many of them had been stored already. */
  readonly retries: number;
  readonly duplicates: number;
  /** Connections that the service closed or that broke, by close code. */
  readonly closes: Counts;
  /** How long messages were sent. */
  readonly seconds: number;
}

export class Tally {
  sent = 0;
  acked = 0;
  refused = 0;
  unknown = 0;
  presenceFrames = 0;
  reconnects = 0;
  retries = 0;
  duplicates = 0;
  talkedMs = 0;
  private readonly errorsBy = new Map<string, number>();
  private readonly closedBy = new Map<string, number>();

  error(code: string): void {
    count(this.errorsBy, code);
  }

  closed(code: number): void {
    count(this.closedBy, String(code));
  }

  totals({ deliveries, recoveries }: Checker): Totals {
    const { recovered, unrecovered, replayed } = recoveries;
    return {
      sent: this.sent,
      acked: this.acked,
      refused: this.refused,
      unknown: this.unknown,
      errors: counts(this.errorsBy),
      deliveries,
      presenceFrames: this.presenceFrames,
      reconnects: this.reconnects,
      recoveries: recovered + unrecovered,
      unrecovered,
      replayed,
      retries: this.retries,
      duplicates: this.duplicates,
      closes: counts(this.closedBy),
      seconds: Math.round(this.talkedMs / 100) / 10,
    };
  }
}

const count = (map: Map<string, number>, code: string): unknown => map.set(code, (map.get(code) ?? 0) + 1);

const counts = (map: ReadonlyMap<string, number>): Counts => Object.fromEntries(map);
