/** The acts of a walk. An act is a few numbers, so that a seed can make it and fast-check can shrink it; each kind reads its own. */
import { ACTIONS, type Action } from "../../src/protocol/actions.ts";
import type { WorldOptions } from "./world.ts";

const WEIGHTS = {
  pass: 26,
  subscribe: 32,
  publish: 24,
  connect: 20,
  send: 14,
  pong: 6,
  edit: 4,
  unsubscribe: 8,
  drop: 4,
  flap: 4,
  stall: 3,
  drain: 3,
  settle: 2,
  rotate: 2,
  wait: 1,
  kick: 1,
  block: 1,
  revoke: 1,
  renew: 5,
} as const;

export type Kind = keyof typeof WEIGHTS;

const KINDS = Object.entries(WEIGHTS).flatMap(([kind, weight]) => new Array<Kind>(weight).fill(kind as Kind));

/** How many numbers an act has, each below NUMBER_MAX. */
export const NUMBERS = 9;
export const NUMBER_MAX = 2520;

export type Act = readonly number[];

/** Reads an act's numbers one after the other, as choices. */
export class Choices {
  private at = 1;

  constructor(private readonly act: Act) {}

  kind(): Kind {
    return KINDS[(this.act[0] ?? 0) % KINDS.length] as Kind;
  }

  number(): number {
    return this.act[this.at++] ?? 0;
  }

  /** The next number, which stays the next. */
  peek(): number {
    return this.act[this.at] ?? 0;
  }

  skip(): undefined {
    this.at++;
  }

  of<T>(list: readonly T[]): T {
    return list[this.number() % list.length] as T;
  }
}

export const makeAct = (next: () => number): Act =>
  Array.from({ length: NUMBERS }, () => Math.floor(next() * NUMBER_MAX));

export function makeOptions(choices: Choices): WorldOptions {
  return {
    nodes: choices.of([1, 2, 3]),
    travel: choices.of(["at once", "late", "at random"]),
    travelNumber: choices.number(),
    tickMs: choices.of([10, 1, 40]),
    answerMs: choices.of([0, 0, 3, 40]),
  };
}

const without = (...actions: Action[]): Action[] => ACTIONS.filter((action) => !actions.includes(action));

/** The choices of each kind; the simplest first, because shrinking prefers them. */
export const APPS = ["red", "blue"] as const;
/** Mostly one application and one channel: connections that never meet find no bugs. */
export const APP_CHOICES = ["red", "red", "red", "blue"] as const;
export const PEERS = ["ann", "ann", "ben", "cat"] as const;
export const CHANNEL_CHOICES = ["a/1", "a/1", "a/1", "a/2", "b/1"] as const;
export const KEY_SLOTS = ["secret", "secret", "secret", "publishable", "other secret"] as const;
export const METADATA = [undefined, { v: 1 }, { v: 2 }] as const;
export const TOKEN_PATTERNS = [
  undefined,
  undefined,
  undefined,
  undefined,
  ["**"],
  ["a/*"],
  ["a/1", "b/*"],
  [],
] as const;
export const TOKEN_PERMISSIONS = [undefined, undefined, undefined, without("presence"), without("send")] as const;
export const LIFE_SECONDS = [3600, 3600, 3600, 3600, 3600, 4, 2] as const;
export const PONG_AFTER_MS = [1, 7, 30, undefined, undefined] as const;
export const KEY_PATTERNS = [["**"], ["**"], ["**"], ["a/*", "b/*"], ["a/*"], ["b/1"]] as const;
export const KEY_ACTIONS: readonly (readonly Action[])[] = [
  ACTIONS,
  ACTIONS,
  ACTIONS,
  ACTIONS,
  without("presence"),
  without("send"),
  without("publish"),
  without("subscribe"),
];
/** A flapping connection: how many changes, how fast, and which message it sends each time. */
export const FLAP_TIMES = [3, 8, 14] as const;
export const FLAP_MS = [60, 25, 120, 0] as const;
/** As a member of the channel, and after leaving it. */
export const FLAP_MESSAGES = [
  [undefined, undefined],
  ["publish", "publish"],
  ["send", "send"],
  ["send", undefined],
  ["publish", undefined],
] as const;
export const PASS_MS = [1, 2, 5, 11, 25] as const;
export const WAIT_MS = [500, 1000, 2000] as const;
export const GRACE_MS = [0, 300, 1500] as const;
export const BLOCK_MS = [200, 1500, 4000] as const;
