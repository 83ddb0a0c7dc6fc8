/** How much the faults happen under: a sample in `npm test`, the whole with PARLEY_TEST_FULL=1, so many times in a row. */
export const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

export const REPEAT = Math.max(1, Number(process.env.PARLEY_TEST_REPEAT ?? 1));

export const LOAD = IS_FULL
  ? ({ clients: 300, channels: 30, rate: 1000 } as const)
  : ({ clients: 60, channels: 12, rate: 200 } as const);

/** All of NATS, PostgreSQL. */
export const OUTAGE_MS = IS_FULL ? 30_000 : 2000;
/** Longer than a silent node is waited for: whoever would judge on waking up, would judge wrong. */
export const ASLEEP_MS = IS_FULL ? 10_000 : 4500;
export const SPLIT_MS = IS_FULL ? 15_000 : 4500;

/** A node that goes without a word is to be gone everywhere within this. */
export const LEAVE_WITHIN_MS = 5000;
/** Of NATS coming back. */
export const ROSTERS_WITHIN_MS = 3000;
export const BACK_WITHIN_MS = 5000;
/** For what was on the way; a busy machine is no fault. */
export const SETTLE_MS = 20_000;
