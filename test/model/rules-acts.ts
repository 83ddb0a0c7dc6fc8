/** The acts of a walk in a world with channel rules. */
import { Choices } from "./acts.ts";
import type { Weather } from "./late-history.ts";
import type { RulesOptions } from "./world.ts";

const WEIGHTS = {
  pass: 40,
  subscribe: 30,
  publish: 44,
  connect: 22,
  send: 12,
  state: 16,
  drop: 6,
  return: 10,
  unsubscribe: 6,
  pong: 5,
  wait: 4,
  edit: 2,
  bye: 2,
  stall: 2,
  drain: 2,
  settle: 2,
  weather: 2,
  trim: 3,
  evict: 3,
  kill: 3,
  remove: 1,
  kick: 1,
  block: 1,
  rotate: 1,
  revoke: 1,
} as const;

export type RulesKind = keyof typeof WEIGHTS;

export const RULES_KINDS = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
  new Array<RulesKind>(weight).fill(kind as RulesKind),
);

/** In the small one, a client that does not read gets a replay of a few messages in several parts; every roster fits. */
const PENDING_BYTES = [1 << 20, 1200] as const;

/** The first number of a setting is not used by the other options. */
export function makeRules(setting: readonly number[], nodes: number): RulesOptions {
  const choices = new Choices([0, ...setting.slice(6)]);
  const history = choices.of([
    { messages: 1000, seconds: 3600 },
    { messages: 1000, seconds: 3600 },
    { messages: 4, seconds: 3600 },
    { messages: 1000, seconds: 2 },
  ]);
  const number = choices.number();
  const graceSec = [0, 1, 3][number % 3] ?? 0;
  const rules = [
    { pattern: "a/*", history, graceSec },
    { pattern: "b/*", graceSec: 2 },
  ];
  const storeMs = [0, 2, 12, 40][choices.number() % 4] ?? 0;
  const storeSeed = setting[0] ?? 0;
  const maxPendingBytes = PENDING_BYTES[choices.number() % PENDING_BYTES.length] ?? 0;
  return { rules, storeMs, isShared: nodes > 1 || storeSeed % 2 === 1, storeSeed, maxPendingBytes };
}

export const WEATHERS: readonly Weather[] = ["losing", "refusing", "hanging"];
export const WEATHER_MS = [30, 200, 1500, 3500] as const;
/** Long enough for rosters, now and then. */
export const RULES_PASS_MS = [1, 2, 5, 11, 25, 60, 150] as const;
/** Between the last message of a node and its death. */
export const RULES_LAST_MS = [1, 2, 5, 11, 25] as const;
export const RULES_WAIT_MS = [400, 1100, 2500, 6000] as const;
/** Message ids, few: different peers use the same ones. */
export const IDS = [undefined, undefined, undefined, "new", "new", "i1", "i2"] as const;
export const STATES = ["new", "new", "new", "null"] as const;
/** From where a subscribe begins. */
export const STARTS = ["plain", "plain", "recover", "recover", "recover own", "rewind", "nonsense"] as const;
export const REWINDS = [1, 3, 1000] as const;
