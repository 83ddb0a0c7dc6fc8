/**
 * How far one subscription to a channel with history has come. Every offset behind its beginning must arrive once and in order,
 * except those of messages that its own connection has published; `skipped` and `jumped` are decided when it is known which those are.
 */
import { type Position, parsePosition } from "../protocol/position.ts";
import type { Order, Wrong } from "./order.ts";
import { Ranges } from "./ranges.ts";

/** From where a subscription continues. */
export interface Resume {
  /** The `recover` of the subscribe. */
  readonly pos: string;
  /** The checker's id of the connection whose messages must not be replayed. */
  readonly without: number | undefined;
}

/** What the ack of a subscribe says about the channel's history. */
export interface Beginning {
  readonly pos: string;
  /** Absent unless the subscribe asked for a recovery. */
  readonly recovered?: boolean | undefined;
  readonly replay?: number | undefined;
}

export class Cursor {
  /** Offsets that were passed over by a message. */
  readonly skipped = new Ranges();
  /** Offsets that were passed over by the ack of an own publish. */
  readonly jumped = new Ranges();
  /** Replayed messages that are still to come. */
  replayLeft: number;
  private readonly start: number;
  private last: number;

  private constructor(
    readonly epoch: string,
    offset: number,
    replay: number,
  ) {
    this.start = this.last = offset;
    this.replayLeft = replay;
  }

  /** The cursor of a subscription whose ack this is, and what is wrong with the ack. */
  static begin(
    { pos, recovered, replay = 0 }: Beginning,
    resume: Resume | undefined,
    order: Order,
  ): { readonly cursor: Cursor | undefined; readonly wrong?: Wrong } {
    const position = parsePosition(pos);
    if (!position) return { cursor: undefined, wrong: { kind: "unplaced", how: `: ${JSON.stringify(pos)}` } };
    if (resume === undefined || recovered !== true) {
      const cursor = new Cursor(position.epoch, position.offset, 0);
      const isUnasked = replay !== 0 || (resume === undefined) !== (recovered === undefined);
      const how = `: ${replay} replayed, recovered is ${recovered}`;
      return isUnasked ? { cursor, wrong: { kind: "miscounted", how } } : { cursor };
    }
    const from = parsePosition(resume.pos);
    if (!from)
      return { cursor: undefined, wrong: { kind: "hole", how: `: recovered from no position, ${resume.pos}` } };
    const cursor = new Cursor(from.epoch, from.offset, replay);
    const check = order.checkAt(from);
    if (from.epoch !== position.epoch)
      return { cursor, wrong: { kind: "hole", how: `: recovered over a new epoch, from ${resume.pos} to ${pos}` } };
    if (check !== undefined && check !== from.check)
      return { cursor, wrong: { kind: "hole", how: `: recovered from ${resume.pos}, where the check is ${check}` } };
    return { cursor };
  }

  /** The newest offset that was received, or acked to this connection as its own. */
  get at(): number {
    return this.last;
  }

  take({ epoch, offset }: Position, isReplay: boolean): Wrong | undefined {
    if (epoch !== this.epoch)
      return { kind: "split", how: `, of epoch ${epoch} in a subscription of epoch ${this.epoch}` };
    return this.placed(offset) ?? this.counted(isReplay);
  }

  /**
   * The ack of a publish on this connection: what has a smaller offset must have arrived before it, and nothing else. Clients cannot
   * compare positions: they resume from the last one that they saw.
   */
  acked({ epoch, offset }: Position, isDuplicate: boolean): Wrong | undefined {
    if (epoch !== this.epoch) return undefined;
    if (offset <= this.last)
      return isDuplicate || offset <= this.start
        ? undefined
        : { kind: "ahead", how: ` at offset ${offset}, behind the message at offset ${this.last}` };
    // What is between may be its own too: several publishes without an answer are repeated together.
    this.jumped.add(this.last + 1, offset - 1);
    // The first publish may have been on another connection: then the message is still to come.
    if (!isDuplicate) this.last = offset;
    return undefined;
  }

  private placed(offset: number): Wrong | undefined {
    const isNext = offset > this.last;
    if (isNext) {
      this.skipped.add(this.last + 1, offset - 1);
      this.last = offset;
      if (this.jumped.isEmpty) return undefined;
    }
    const where = ` at offset ${offset}`;
    if (offset <= this.start) return { kind: "stale", how: `${where}, in a subscription from ${this.start} on` };
    if (this.jumped.delete(offset)) return { kind: "ahead", how: `${where}, behind the ack of a later one` };
    if (isNext) return undefined;
    if (this.skipped.delete(offset)) return { kind: "disordered", how: `${where}, behind offset ${this.last}` };
    return { kind: "doubled", how: `${where} twice` };
  }

  private counted(isReplay: boolean): Wrong | undefined {
    if (isReplay) {
      if (this.replayLeft > 0) this.replayLeft--;
      else return { kind: "miscounted", how: " as a replayed one, of which no more were announced" };
    } else if (this.replayLeft > 0) {
      const left = this.replayLeft;
      this.replayLeft = 0;
      return { kind: "miscounted", how: ` as a live one, with ${left} replayed ones to come` };
    }
    return undefined;
  }
}
