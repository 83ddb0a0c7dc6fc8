/** Questions to other nodes: asked of some, answered in parts, over when all have answered, are gone, or it takes too long. */
import { type Answer, type Answered, answered, type LaneState } from "./wire.ts";

export const ANSWER_MS = 1000;
/** Of text in one part of an answer: well below what NATS takes, also when every character needs three bytes. */
const PART_CHARS = 200_000;

interface Pending {
  readonly waitingFor: Set<string>;
  readonly parts: Map<string, Answer[]>;
  readonly until: number;
  readonly done: (answers: ReadonlyMap<string, Answer>) => void;
}

export class Questions {
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly nowMs: () => number) {}

  /** `done` gets the answers of those who have answered whole. */
  expect(number: number, nodes: readonly string[], done: (answers: ReadonlyMap<string, Answer>) => void): void {
    const waitingFor = new Set(nodes);
    if (waitingFor.size === 0) return done(new Map());
    this.pending.set(number, { waitingFor, parts: new Map(), until: this.nowMs() + ANSWER_MS, done });
  }

  has(number: number): boolean {
    return this.pending.has(number);
  }

  arrived(number: number, { node, part, parts, answer }: Answered): void {
    const one = this.pending.get(number);
    if (!one?.waitingFor.has(node)) return;
    const got = one.parts.get(node) ?? [];
    one.parts.set(node, got);
    // Parts come in order: all of them go the same way.
    if (part !== got.length) return;
    got.push(answer);
    if (got.length < parts) return;
    one.waitingFor.delete(node);
    if (one.waitingFor.size === 0) this.finish(number, one);
  }

  /** Its answer will not come any more. */
  gone(node: string): void {
    for (const [number, one] of [...this.pending]) {
      if (!one.waitingFor.delete(node)) continue;
      one.parts.delete(node);
      if (one.waitingFor.size === 0) this.finish(number, one);
    }
  }

  sweep(): void {
    const now = this.nowMs();
    for (const [number, one] of [...this.pending]) if (one.until <= now) this.finish(number, one);
  }

  /** Nobody will answer any more. */
  end(): void {
    for (const [number, one] of [...this.pending]) this.finish(number, one);
  }

  private finish(number: number, { waitingFor, parts, done }: Pending): void {
    this.pending.delete(number);
    const whole = [...parts].filter(([node]) => !waitingFor.has(node));
    done(new Map(whole.map(([node, got]) => [node, joined(got)])));
  }
}

/** An answer in as many texts as it needs. */
export function partsOf(node: string, answer: Answer): string[] {
  const pieces = split(answer);
  return pieces.map((piece, part) => answered({ node, part, parts: pieces.length, answer: piece }));
}

function split(answer: Answer): Answer[] {
  switch (answer.what) {
    case "who":
      return chunks(answer.lanes.flatMap(lanePieces)).map((lanes) => ({ what: "who", lanes }));
    case "again":
      return answer.items ? chunks(answer.items).map((items) => ({ what: "again", items })) : [answer];
    case "channels":
      return chunks(answer.counts).map((counts) => ({ what: "channels", counts }));
    case "members":
      return chunks(answer.members).map((members) => ({ what: "members", members }));
    default:
      return [answer];
  }
}

/** A lane with very many members becomes several of the same place. */
const lanePieces = (lane: LaneState): LaneState[] => chunks(lane.members).map((members) => ({ ...lane, members }));

/** At least one, perhaps empty. */
function chunks<T>(entries: readonly T[]): T[][] {
  const all: T[][] = [[]];
  let chars = 0;
  for (const entry of entries) {
    const size = JSON.stringify(entry).length;
    if (chars > 0 && chars + size > PART_CHARS) {
      all.push([]);
      chars = 0;
    }
    all.at(-1)?.push(entry);
    chars += size;
  }
  return all;
}

function joined(parts: readonly Answer[]): Answer {
  return parts.reduce((sum, one) => {
    if (sum.what === "who" && one.what === "who") return { what: "who", lanes: [...sum.lanes, ...one.lanes] };
    if (sum.what === "again" && one.what === "again")
      return { what: "again", items: sum.items && one.items && [...sum.items, ...one.items] };
    if (sum.what === "channels" && one.what === "channels")
      return { what: "channels", counts: [...sum.counts, ...one.counts] };
    if (sum.what === "members" && one.what === "members")
      return { what: "members", members: [...sum.members, ...one.members] };
    return sum;
  });
}

/** Lanes of an answer, those in pieces put together. */
export function lanesOf(answer: Answer | undefined): LaneState[] {
  if (answer?.what !== "who") return [];
  const lanes = new Map<string, LaneState>();
  for (const lane of answer.lanes) {
    const name = `${lane.app} ${lane.channel}`;
    const before = lanes.get(name);
    lanes.set(name, before ? { ...lane, members: [...before.members, ...lane.members] } : lane);
  }
  return [...lanes.values()];
}
