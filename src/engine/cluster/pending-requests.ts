/** Questions to other nodes: asked of some, answered in parts, over when all have answered, are gone, or it takes too long. */
import type { ChannelCount } from "../engine.ts";
import { type Answer, type Answered, answered, type LaneState } from "./encode.ts";
import { chunksOf, PARTS_MAX } from "./payload.ts";

/** How long to wait for an answer, or for the next part of one. */
export const ANSWER_MS = 1000;
/** How long to wait for all parts of an answer. */
export const WHOLE_ANSWER_MS = 10_000;

interface Pending {
  readonly waitingFor: Set<string>;
  readonly parts: Map<string, Answer[]>;
  until: number;
  readonly lastMs: number;
  readonly done: (answers: ReadonlyMap<string, Answer>) => void;
}

export class Questions {
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly nowMs: () => number) {}

  /** `done` gets the answers of those who have answered whole. */
  expect(number: number, nodes: readonly string[], done: (answers: ReadonlyMap<string, Answer>) => void): void {
    const waitingFor = new Set(nodes);
    if (waitingFor.size === 0) return done(new Map());
    const now = this.nowMs();
    const [until, lastMs] = [now + ANSWER_MS, now + WHOLE_ANSWER_MS];
    this.pending.set(number, { waitingFor, parts: new Map(), until, lastMs, done });
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
    one.until = Math.min(one.lastMs, this.nowMs() + ANSWER_MS);
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

/** An answer in as many texts as it needs; none if it has more than PARTS_MAX. Those to `who` are made by who-answers.ts. */
export function partsOf(node: string, answer: Answer): string[] {
  const pieces = split(answer);
  if (pieces.length > PARTS_MAX) return [];
  return pieces.map((piece, part) => answered({ node, part, parts: pieces.length, answer: piece }));
}

function split(answer: Answer): Answer[] {
  switch (answer.what) {
    case "again":
      return answer.items ? chunksOf(answer.items).map((items) => ({ what: "again", items })) : [answer];
    case "channels":
      return chunksOf(answer.counts.flatMap(countPieces)).map((counts) => ({ what: "channels", counts }));
    case "members":
      return chunksOf(answer.members).map((members) => ({ what: "members", members }));
    default:
      return [answer];
  }
}

/** A channel with very many members becomes several; its connections are counted once. */
const countPieces = ({ channel, peerIds, connections }: ChannelCount): ChannelCount[] =>
  chunksOf(peerIds).map((some, at) => ({ channel, peerIds: some, connections: at === 0 ? connections : 0 }));

function joined(parts: readonly Answer[]): Answer {
  const [first = { what: "block" }] = parts;
  switch (first.what) {
    case "who":
      return { what: "who", lanes: parts.flatMap((one) => (one.what === "who" ? one.lanes : [])) };
    case "again":
      return { what: "again", items: first.items && parts.flatMap((one) => (one.what === "again" && one.items) || []) };
    case "channels":
      return { what: "channels", counts: parts.flatMap((one) => (one.what === "channels" ? one.counts : [])) };
    case "members":
      return { what: "members", members: parts.flatMap((one) => (one.what === "members" ? one.members : [])) };
    default:
      return first;
  }
}

/** Lanes of an answer, those in pieces put together. */
export function lanesOf(answer: Answer | undefined): LaneState[] {
  if (answer?.what !== "who") return [];
  const pieces = Map.groupBy(answer.lanes, ({ app, channel }) => `${app} ${channel}`);
  return [...pieces.values()].flatMap((all) => {
    const [first] = all;
    return first ? { ...first, members: all.flatMap(({ members }) => members) } : [];
  });
}

/** Channels of an answer, those in pieces put together. */
export function countsOf(answer: Answer): ChannelCount[] {
  if (answer.what !== "channels") return [];
  return [...Map.groupBy(answer.counts, ({ channel }) => channel)].map(([channel, all]) => ({
    channel,
    peerIds: all.flatMap(({ peerIds }) => peerIds),
    connections: all.reduce((sum, { connections }) => sum + connections, 0),
  }));
}
