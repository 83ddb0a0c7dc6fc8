/** Whether connecting and disconnecting leaks memory: resident memory after each round of many cycles. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Crowds, Part, Wish } from "../lib/crowds.ts";
import { MIB, memoryOf } from "../lib/memory.ts";
import { table } from "../lib/report.ts";
import type { Subject } from "./memory.ts";

const ROUNDS = 20;
const SUBSCRIPTIONS_PER_ROUND = 10_000;
const CONNECTIONS_PER_ROUND = 2000;
/** Each peer sends two frames per cycle, which keeps all of them below their rate limit. */
const PEERS = 500;
const CHANNEL_SIZE = 50;
const IN_FLIGHT = 100;
const SETTLE_MS = 2000;
const WITHIN_MS = 120_000;
/**
 * The garbage collector lets garbage accumulate for several rounds and then frees it, so that RSS is a sawtooth. A leak raises its
 * minima, so the lowest value of each half is compared, without the first round.
 */
const TOLERATED_SHARE = 0.02;
const TOLERATED_BYTES = 4 * MIB;

export interface CycleFigures {
  readonly kind: string;
  readonly cycles: number;
  /** RSS after each round. */
  readonly rss: readonly number[];
  /** Lowest RSS of the second half, minus that of the first half from its second round on. */
  readonly growth: number;
  readonly tolerated: number;
  readonly holds: boolean;
}

export async function measureCycles(crowds: Crowds, subject: Subject, scale: number): Promise<CycleFigures[]> {
  const perRound = Math.ceil((SUBSCRIPTIONS_PER_ROUND * scale) / PEERS);
  const staying: Part = { group: "stay", from: 0, to: PEERS, channelSize: CHANNEL_SIZE, inFlight: IN_FLIGHT };
  const ask = (wish: Wish) => crowds.ask(wish, subject, WITHIN_MS);

  await ask({ do: "connect", part: staying });
  const subscriptions = await rounds("subscribe/unsubscribe", perRound * PEERS, subject, () =>
    ask({ do: "cycle subscriptions", part: staying, cycles: perRound }),
  );
  await ask({ do: "leave", part: staying });

  const each = Math.ceil(CONNECTIONS_PER_ROUND * scale);
  const connections = await rounds("connect/drop", each, subject, (round) =>
    // Different peers each time, so that memory kept by peer id shows.
    ask({ do: "cycle connections", part: { ...staying, group: `come-and-go-${round}`, to: each } }),
  );
  return [subscriptions, connections];
}

async function rounds(
  kind: string,
  cycles: number,
  { pid }: Subject,
  work: (round: number) => Promise<unknown>,
): Promise<CycleFigures> {
  const rss: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await work(round);
    await sleep(SETTLE_MS);
    rss.push(memoryOf(pid).rss);
  }
  const earlier = Math.min(...rss.slice(1, ROUNDS / 2));
  const growth = Math.min(...rss.slice(ROUNDS / 2)) - earlier;
  const tolerated = earlier * TOLERATED_SHARE + TOLERATED_BYTES;
  return { kind, cycles: cycles * ROUNDS, rss, growth, tolerated, holds: growth <= tolerated };
}

export function describeCycles(figures: readonly CycleFigures[]): string {
  const heads = ["RSS after a round, MiB", ...figures.map(({ kind, cycles }) => `${kind}, ${cycles} in all`)];
  const mib = (bytes: number | undefined): string => ((bytes ?? Number.NaN) / MIB).toFixed(1);
  const rows = Array.from({ length: ROUNDS }, (_, i) => [`round ${i + 1}`, ...figures.map(({ rss }) => mib(rss[i]))]);
  rows.push(["growth", ...figures.map(({ growth }) => mib(growth))]);
  rows.push(["tolerated", ...figures.map(({ tolerated }) => mib(tolerated))]);
  rows.push(["target", ...figures.map(({ holds }) => (holds ? "holds" : "MISSED"))]);
  return table(heads, rows);
}
