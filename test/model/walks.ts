/** Random walks: one walk, many from a seed, and the shortest walk to the same fault. */
import { type Act, Choices, makeAct, makeOptions } from "./acts.ts";
import { random } from "./random.ts";
import { RuleBroken } from "./rule-broken.ts";
import { makeRules } from "./rules-acts.ts";
import { RulesWalk } from "./rules-walk.ts";
import { Walk } from "./walk.ts";

export interface Fault {
  readonly message: string;
  /** How many acts were done until the fault. */
  readonly steps: number;
  readonly trail: readonly string[];
}

/** How often each kind of event happened on walks without a fault. */
export type Counts = Map<string, number>;

/** Whether the applications have channel rules. */
export type Kind = "plain" | "rules";

/** Does these acts in a world that `setting` chooses. */
export async function walk(
  setting: Act,
  acts: readonly Act[],
  counts?: Counts,
  kind: Kind = "plain",
): Promise<Fault | undefined> {
  const plain = makeOptions(new Choices(setting));
  const options = kind === "plain" ? plain : { ...plain, rules: makeRules(setting, plain.nodes) };
  const it = kind === "plain" ? new Walk(options) : new RulesWalk(options);
  let steps = 0;
  try {
    for (const act of acts) {
      steps++;
      await it.do(act);
    }
    await it.end();
    if (counts) for (const [what, count] of it.context.counts) counts.set(what, (counts.get(what) ?? 0) + count);
    return undefined;
  } catch (error) {
    // Any other exception is a fault too: realtime must never throw.
    const message = error instanceof RuleBroken ? error.message : String(error instanceof Error ? error.stack : error);
    return { message, steps, trail: [JSON.stringify(options), ...it.context.trail] };
  }
}

export interface Found extends Fault {
  readonly kind: Kind;
  readonly setting: Act;
  readonly acts: readonly Act[];
}

const ACTS_MAX = 300;

/** Walks until `steps` acts are done or a fault is found. `steps` of the result counts the acts of all walks. */
export async function walks(
  seed: number,
  steps: number,
  kind: Kind = "plain",
): Promise<{ steps: number; found: Found | undefined; counts: Counts }> {
  const next = random(seed);
  const counts: Counts = new Map();
  let done = 0;
  while (done < steps) {
    const setting = makeAct(next);
    const length = Math.min(steps - done, 20 + Math.floor(next() * (ACTS_MAX - 20)));
    const acts = Array.from({ length }, () => makeAct(next));
    const fault = await walk(setting, acts, counts, kind);
    if (fault) {
      const found = { ...fault, kind, setting, acts: acts.slice(0, fault.steps) };
      return { steps: done + fault.steps, found, counts };
    }
    done += length;
  }
  return { steps: done, found: undefined, counts };
}

/** Leaves out acts as long as there is still such a fault. */
export async function shortened(found: Found): Promise<Found> {
  let best = found;
  for (let size = Math.ceil(best.acts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.acts.length; ) {
      const acts = best.acts.toSpliced(at, size);
      const fault = await walk(best.setting, acts, undefined, best.kind);
      if (fault && sortOf(fault) === sortOf(found))
        best = { ...best, ...fault, setting: best.setting, acts: acts.slice(0, fault.steps) };
      else at += size;
    }
  }
  return best;
}

/** Which rule was broken, without names and numbers. */
export const sortOf = ({ message }: Pick<Fault, "message">): string =>
  message
    .replace(/^\S+#\d+ on node \d+: /, "")
    .replace(/[[{].*?[\]}]+|\d+|[0-9a-f]{8}-[0-9a-f-]{27}|ann|ben|cat|[ab]\/\d/g, "");
