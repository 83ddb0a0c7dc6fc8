/** A proxy between clients and a real Parley: passes everything on unchanged, but plants a fault in every nth delivery. */
import { type Alter, NetworkProxy } from "./network-proxy.ts";
import { encodeFrame, FrameReader, OPCODE, type ServerFrame } from "./wire/frames.ts";

/**
 * `flap`: the receiver sees the sender leave and join again; `left`: it only sees it leave; `drop replayed`: like `drop`, but only of
 * messages that a recovery replays.
 */
export type Fault = "none" | "drop" | "double" | "swap" | "flap" | "left" | "drop replayed";

/** The fields of a message frame that a fault needs. */
interface Delivery {
  readonly channel: string;
  readonly from: string;
  readonly replay?: true;
}

/** The end of the handshake's response. */
const HEAD_END = "\r\n\r\n";

export class FaultyProxy {
  /** Messages from the server, over all connections. */
  deliveries = 0;
  /** Faults that are complete: a swap counts when both messages are sent. */
  planted = 0;

  private begun = 0;

  private constructor(
    private readonly fault: Fault,
    private readonly every: number,
    private readonly most: number,
  ) {}

  /** Plants the fault in every `every`th delivery, at most `most` times. */
  static async to(
    target: number,
    fault: Fault,
    { every = 10_000, most = Number.POSITIVE_INFINITY } = {},
  ): Promise<FaultyProxy & { readonly link: NetworkProxy }> {
    const line = new FaultyProxy(fault, every, most);
    const link = await NetworkProxy.to(target, { alter: { down: () => line.spoiler() } });
    return Object.assign(line, { link });
  }

  private spoiler(): Alter {
    const reader = new FrameReader();
    const held = new Map<string, Buffer>();
    let head = Buffer.alloc(0);
    let isUpgraded = false;
    return (bytes) => {
      if (isUpgraded)
        return Buffer.concat(reader.push(bytes).flatMap((frame) => this.passed(frame.bytes, deliveryIn(frame), held)));
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf(HEAD_END);
      if (end < 0) return Buffer.alloc(0);
      isUpgraded = true;
      const frames = reader.push(head.subarray(end + HEAD_END.length));
      return Buffer.concat([
        head.subarray(0, end + HEAD_END.length),
        ...frames.flatMap((frame) => this.passed(frame.bytes, deliveryIn(frame), held)),
      ]);
    };
  }

  private passed(bytes: Buffer, delivery: Delivery | undefined, held: Map<string, Buffer>): Buffer[] {
    if (!delivery || (this.fault === "drop replayed" && !delivery.replay)) return [bytes];
    // The order matters only within one sender and channel.
    const sender = `${delivery.from} ${delivery.channel}`;
    const waiting = held.get(sender);
    if (waiting) {
      held.delete(sender);
      this.planted++;
    }
    const isTurn = ++this.deliveries % this.every === 0;
    if (!isTurn || this.fault === "none" || this.begun >= this.most) return waiting ? [bytes, waiting] : [bytes];
    this.begun++;
    if (this.fault === "swap") {
      held.set(sender, Buffer.from(bytes));
      return waiting ? [waiting] : [];
    }
    this.planted++;
    return spoiled(this.fault, bytes, delivery);
  }
}

function spoiled(fault: Exclude<Fault, "none" | "swap">, bytes: Buffer, { channel, from }: Delivery): Buffer[] {
  const entry = [{ peerId: from }];
  const left = textFrame({ type: "presence", channel, joined: [], left: entry });
  const back = textFrame({ type: "presence", channel, joined: entry, left: [] });
  switch (fault) {
    case "drop":
    case "drop replayed":
      return [];
    case "double":
      return [bytes, bytes];
    case "flap":
      return [left, bytes, back];
    case "left":
      return [left, bytes];
  }
}

function deliveryIn({ opcode, payload }: ServerFrame): Delivery | undefined {
  const isDelivery = opcode === OPCODE.text && payload.indexOf('{"type":"message"') === 0;
  return isDelivery ? JSON.parse(payload.toString()) : undefined;
}

/** A text frame as a server would send it. */
const textFrame = (frame: object): Buffer =>
  encodeFrame(OPCODE.text, Buffer.from(JSON.stringify(frame)), { masked: false });
