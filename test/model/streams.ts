/** The streams as they are: what the store has committed, in which order, independent of what the nodes make of it. */
import type { Appended, Batch, StreamState } from "../../src/history/contract/history.ts";
import { NO_CHECK, type Position, parsePosition } from "../../src/protocol/position.ts";
import { RuleBroken } from "./rule-broken.ts";

export interface StreamMessage {
  readonly offset: number;
  readonly check: string;
  readonly time: number;
  /** The number of the message in the model. */
  readonly number: number;
  /** The id of the connection that published it. */
  readonly connection: string | undefined;
}

export interface Epoch {
  readonly name: string;
  /** The message of offset 1 is the first. */
  readonly messages: StreamMessage[];
  /** The highest offset that is not stored any more. */
  trimmed: number;
  /** By scope and id: the number of the first message with it. */
  readonly ids: Map<string, number>;
  /** Since when the stream has another epoch. */
  endedMs: number | undefined;
}

export class Streams {
  private readonly epochs = new Map<string, Epoch>();
  /** By application and channel. */
  private readonly current = new Map<string, Epoch>();

  constructor(
    private readonly nowMs: () => number,
    /** The scope and id of a message, by its number; `undefined` without an id. */
    private readonly idOf: (number: number) => string | undefined,
  ) {}

  currentOf(app: string, channel: string): Epoch | undefined {
    return this.current.get(`${app} ${channel}`);
  }

  epoch(name: string): Epoch | undefined {
    return this.epochs.get(name);
  }

  /** The position that a frame names, if the store has ever given it. */
  known(text: unknown): Position | undefined {
    const position = typeof text === "string" ? parsePosition(text) : undefined;
    if (!position) return undefined;
    const check = this.checkAt(this.epochs.get(position.epoch), position.offset);
    return check === position.check ? position : undefined;
  }

  private checkAt(epoch: Epoch | undefined, offset: number): string | undefined {
    return offset === 0 ? epoch && NO_CHECK : epoch?.messages[offset - 1]?.check;
  }

  /** The store has committed a batch. */
  committed({ messages }: Batch, appended: readonly Appended[]): void {
    for (const [at, { epoch: name, offset, check, time, isDuplicate }] of appended.entries()) {
      const message = messages[at];
      if (!message || isDuplicate || this.epochs.get(name)?.messages[offset - 1]?.check === check) continue;
      const { spaceId, channel, dataJson, connection } = message;
      const epoch = this.enter(spaceId, channel, name);
      if (offset !== epoch.messages.length + 1)
        throw new RuleBroken(`the store gave offset ${offset} on ${channel} after ${epoch.messages.length}`);
      const { n: number } = JSON.parse(dataJson) as { n: number };
      epoch.messages.push({ offset, check, time, number, connection });
      const id = this.idOf(number);
      if (id !== undefined && epoch.ids.has(id))
        throw new RuleBroken(`message ${number} is stored, a duplicate by its id`);
      if (id !== undefined) epoch.ids.set(id, number);
    }
  }

  /** The store has said in which state a stream is. */
  seen(app: string, channel: string, { epoch, first }: StreamState): void {
    const current = this.enter(app, channel, epoch);
    current.trimmed = Math.max(current.trimmed, first - 1);
  }

  /** A stream has no messages any more; its next epoch is not known yet. */
  removed(app: string, channel: string): void {
    const epoch = this.currentOf(app, channel);
    if (epoch) epoch.endedMs ??= this.nowMs();
    this.current.delete(`${app} ${channel}`);
  }

  private enter(app: string, channel: string, name: string): Epoch {
    const before = this.currentOf(app, channel);
    if (before?.name === name) return before;
    if (before) before.endedMs ??= this.nowMs();
    if (this.epochs.has(name)) throw new RuleBroken(`the epoch ${name} of ${channel} has returned`);
    const epoch: Epoch = { name, messages: [], trimmed: 0, ids: new Map(), endedMs: undefined };
    this.epochs.set(name, epoch);
    this.current.set(`${app} ${channel}`, epoch);
    return epoch;
  }
}
