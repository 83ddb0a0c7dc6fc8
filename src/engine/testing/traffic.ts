/** For tests: carriers between nodes of one process. Each keeps a route in order; they differ in delay and in the order of routes. */
import type { Carrier } from "../local.ts";

export interface Traffic {
  readonly carry: Carrier;
  /** How much is in transit. */
  readonly underWay: number;
  /** A little time passes: something may arrive, or nothing. */
  step(): void;
}

/** Everything arrives immediately. */
export const atOnce = (): Traffic => ({ carry: (_route, arrive) => arrive(), underWay: 0, step: () => {} });

/** Everything takes the same number of steps. */
export function delayed(steps: number): Traffic {
  const queue: { arrive: () => void; due: number }[] = [];
  let now = 0;
  return {
    carry: (_route, arrive) => queue.push({ arrive, due: now + steps }),
    get underWay() {
      return queue.length;
    },
    step: () => {
      now++;
      while (queue[0] !== undefined && queue[0].due <= now) queue.shift()?.arrive();
    },
  };
}

/** In each step up to two random routes advance by one; some routes may overtake others. */
export function shuffled(seed: number): Traffic {
  const routes = new Map<string, (() => void)[]>();
  const next = random(seed);
  return {
    carry: (route, arrive) => {
      const waiting = routes.get(route);
      if (waiting) waiting.push(arrive);
      else routes.set(route, [arrive]);
    },
    get underWay() {
      return [...routes.values()].reduce((sum, waiting) => sum + waiting.length, 0);
    },
    step: () => {
      for (let moves = Math.floor(next() * 3); moves > 0 && routes.size > 0; moves--) {
        const route = [...routes.keys()][Math.floor(next() * routes.size)] as string;
        const waiting = routes.get(route) ?? [];
        const arrive = waiting.shift();
        if (waiting.length === 0) routes.delete(route);
        arrive?.();
      }
    },
  };
}

/** Mulberry32: pseudo-random numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
