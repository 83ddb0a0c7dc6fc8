/** For tests: ways that things may travel between nodes. Each keeps a lane in order; what else may happen is its own. */
import type { Carrier } from "../local.ts";

export interface Traffic {
  readonly carry: Carrier;
  /** How many things are under way. */
  readonly underWay: number;
  /** A little time passes: something may arrive, or nothing. */
  step(): void;
}

/** What is given has arrived. */
export const atOnce = (): Traffic => ({ carry: (_lane, arrive) => arrive(), underWay: 0, step: () => {} });

/** Everything takes the same number of steps. */
export function delayed(steps: number): Traffic {
  const road: { arrive: () => void; due: number }[] = [];
  let now = 0;
  return {
    carry: (_lane, arrive) => road.push({ arrive, due: now + steps }),
    get underWay() {
      return road.length;
    },
    step: () => {
      now++;
      while (road[0] !== undefined && road[0].due <= now) road.shift()?.arrive();
    },
  };
}

/** Each step, chance lets some lanes go on by one; a lane may stand still while others run ahead. */
export function shuffled(seed: number): Traffic {
  const lanes = new Map<string, (() => void)[]>();
  const next = random(seed);
  return {
    carry: (lane, arrive) => {
      const waiting = lanes.get(lane);
      if (waiting) waiting.push(arrive);
      else lanes.set(lane, [arrive]);
    },
    get underWay() {
      return [...lanes.values()].reduce((sum, lane) => sum + lane.length, 0);
    },
    step: () => {
      for (let moves = Math.floor(next() * 3); moves > 0 && lanes.size > 0; moves--) {
        const lane = [...lanes.keys()][Math.floor(next() * lanes.size)] as string;
        const waiting = lanes.get(lane) ?? [];
        const arrive = waiting.shift();
        if (waiting.length === 0) lanes.delete(lane);
        arrive?.();
      }
    },
  };
}

/** Mulberry32: numbers from 0 to 1 that a seed decides. */
function random(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
