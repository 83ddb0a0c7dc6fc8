/** How good a connection is, by what the browser has counted of it. */

/** Sums since the connection began. */
export interface Counts {
  readonly received: number;
  readonly lost: number;
  readonly roundTripSec: number;
}

/** As much of a report of the browser as is used. */
type Report = { forEach(each: (entry: Readonly<Record<string, unknown>>) => void): void };

const POOR_LOSS = 0.05;
const POOR_ROUND_TRIP_SEC = 0.4;
/** Fewer packets say nothing. */
const PACKETS_MIN = 20;

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

export function countsOf(report: Report): Counts {
  let [received, lost, roundTripSec] = [0, 0, 0];
  report.forEach((entry) => {
    if (entry.type === "inbound-rtp") {
      received += numberOf(entry.packetsReceived);
      lost += numberOf(entry.packetsLost);
    } else if (entry.type === "candidate-pair" && entry.nominated === true && entry.state === "succeeded")
      roundTripSec = Math.max(roundTripSec, numberOf(entry.currentRoundTripTime));
  });
  return { received, lost, roundTripSec };
}

export function isPoor(now: Counts, before: Counts | undefined): boolean {
  if (now.roundTripSec > POOR_ROUND_TRIP_SEC) return true;
  const lost = now.lost - (before?.lost ?? 0);
  const all = lost + now.received - (before?.received ?? 0);
  return all >= PACKETS_MIN && lost / all > POOR_LOSS;
}
