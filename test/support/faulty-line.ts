/** Between clients and a real Parley: passes everything on as it is, but for one delivery in so many, which it spoils. */
import { FrameCutter, textFrame } from "./server-frames.ts";
import { type Alter, Wire } from "./wire.ts";

/** `flap`: its receiver is told that the sender left, and then that it is back; `left`: only that it left. */
export type Fault = "none" | "drop" | "double" | "swap" | "flap" | "left";

/** A frame of type message, as far as a fault needs to know it. */
interface Delivery {
  readonly channel: string;
  readonly from: string;
}

export class FaultyLine {
  /** Messages that the server wrote, over all connections. */
  deliveries = 0;
  /** Faults that are done, a swap when both are. */
  planted = 0;

  private begun = 0;

  private constructor(
    private readonly fault: Fault,
    private readonly every: number,
    private readonly most: number,
  ) {}

  /** Spoils the `every`th delivery, and each `every`th after it, at most so many. */
  static async to(
    target: number,
    fault: Fault,
    { every = 10_000, most = Number.POSITIVE_INFINITY } = {},
  ): Promise<FaultyLine & { readonly wire: Wire }> {
    const line = new FaultyLine(fault, every, most);
    const wire = await Wire.to(target, { alter: { down: () => line.spoiler() } });
    return Object.assign(line, { wire });
  }

  private spoiler(): Alter {
    const cutter = new FrameCutter();
    const held = new Map<string, Buffer>();
    return (bytes) => {
      const out: Buffer[] = [];
      for (const frame of cutter.cut(bytes)) out.push(...this.passed(frame.bytes, deliveryIn(frame.text), held));
      return Buffer.concat(out);
    };
  }

  private passed(bytes: Buffer, delivery: Delivery | undefined, held: Map<string, Buffer>): Buffer[] {
    if (!delivery) return [bytes];
    // Only of one sender in one channel does the order matter.
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
  const left = textFrame(JSON.stringify({ type: "presence", channel, joined: [], left: entry }));
  const back = textFrame(JSON.stringify({ type: "presence", channel, joined: entry, left: [] }));
  switch (fault) {
    case "drop":
      return [];
    case "double":
      return [bytes, bytes];
    case "flap":
      return [left, bytes, back];
    case "left":
      return [left, bytes];
  }
}

function deliveryIn(text: string | undefined): Delivery | undefined {
  return text?.startsWith('{"type":"message"') ? JSON.parse(text) : undefined;
}
