/** The load during the faults: a sample in `npm test`, all of it with PARLEY_TEST_FULL=1, repeated PARLEY_TEST_REPEAT times. */
export const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

export const REPEAT = Math.max(1, Number(process.env.PARLEY_TEST_REPEAT ?? 1));

export const LOAD = IS_FULL
  ? ({ clients: 300, channels: 30, rate: 1000 } as const)
  : ({ clients: 36, channels: 12, rate: 100 } as const);

/** A further fleet, on channels with history. */
export const STORED = {
  prefix: "stored",
  history: true,
  clients: LOAD.clients / 2,
  channels: LOAD.channels / 2,
  rate: LOAD.rate / 2,
} as const;
/** Enough that no fault of these tests lasts longer than the history. */
export const STORED_RULES = [{ pattern: `${STORED.prefix}/**`, history: { messages: 10_000, seconds: 3600 } }];

/** The length of an outage of all NATS servers, and of PostgreSQL. */
export const OUTAGE_MS = IS_FULL ? 30_000 : 2000;
/** Longer than the timeout for a silent node: a node that judged by its own clock on resuming would be wrong. */
export const ASLEEP_MS = IS_FULL ? 10_000 : 4500;
export const SPLIT_MS = IS_FULL ? 15_000 : 4500;

/** Times are exact in full runs, which have the machine to themselves. */
const SLACK = IS_FULL ? 1 : 5;
/** Members of a node that died must have left everywhere within this time. */
export const LEAVE_WITHIN_MS = 5000 * SLACK;
/** Rosters must be right within this time after NATS is reachable again. */
export const ROSTERS_WITHIN_MS = 3000 * SLACK;
export const BACK_WITHIN_MS = 5000 * SLACK;
/** For messages on their way; generous, because a busy machine is no fault. */
export const SETTLE_MS = 20_000;
