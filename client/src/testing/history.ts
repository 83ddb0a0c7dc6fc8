/** A channel with history behind a FakeSocket: frames wait in both directions until the test lets them pass, and may be lost. */
import { type FakeSocket, welcomeFrame } from "./service.ts";

type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

interface Stored {
  readonly offset: number;
  readonly connection: string;
  readonly id: unknown;
  readonly from: "me" | "other";
  readonly data: unknown;
}

interface Connection {
  readonly id: string;
  readonly socket: FakeSocket;
  readonly toClient: object[];
  /** How many of the client's frames were read. */
  read: number;
  isSubscribed: boolean;
}

export class FakeHistory {
  readonly stored: Stored[] = [];
  connection: Connection | undefined;
  /** Messages up to this offset are gone. */
  trimmed = 0;
  private connections = 0;

  constructor(
    private readonly name: string,
    private readonly chance: () => number,
  ) {}

  welcome(socket: FakeSocket): void {
    const id = `c${++this.connections}`;
    this.connection = { id, socket, toClient: [], read: 0, isSubscribed: false };
    socket.frames(welcomeFrame({ connection: id }));
  }

  /** The connection is lost, with what was on its way. */
  async cut(): Promise<void> {
    const { connection } = this;
    this.connection = undefined;
    await connection?.socket.end();
  }

  /** Reads what the client has sent. */
  read(count: number): void {
    const { connection } = this;
    for (let left = count; connection && left > 0; left--) {
      const frame = connection.socket.sent[connection.read];
      if (!frame) return;
      connection.read++;
      this.handle(connection, frame);
    }
  }

  /** Hands frames to the client. */
  deliver(count: number): void {
    const { connection } = this;
    for (let left = count; connection && connection === this.connection && left > 0; left--) {
      const frame = connection.toClient.shift();
      if (!frame) return;
      connection.socket.frames(frame);
    }
  }

  /** Someone else publishes. */
  publishOther(): void {
    this.store({ connection: "theirs", id: undefined, from: "other", data: "theirs" });
    const last = this.stored.at(-1);
    if (last && this.connection?.isSubscribed) this.connection.toClient.push(this.messageOf(last));
  }

  /** The token is narrowed. */
  narrow(): void {
    const { connection, name } = this;
    if (!connection?.isSubscribed) return;
    connection.isSubscribed = false;
    connection.toClient.push({ type: "error", channel: name, code: "channel_not_authorized", message: "narrowed" });
  }

  private get pos(): string {
    return String(this.stored.length);
  }

  private store(message: Omit<Stored, "offset">): void {
    this.stored.push({ offset: this.stored.length + 1, ...message });
  }

  private messageOf({ offset, from, data, id }: Stored): object {
    return { type: "message", channel: this.name, from, data, id, pos: String(offset), time: 1 };
  }

  private handle(connection: Connection, frame: Frame): void {
    const { requestId } = frame;
    const ack = (fields: object = {}): unknown => connection.toClient.push({ type: "ack", requestId, ...fields });
    const isAway = this.chance() < 0.08 && (frame.type === "publish" || !connection.isSubscribed);
    if (frame.type === "ping") connection.toClient.push({ type: "pong" });
    else if (frame.type === "history") connection.toClient.push({ type: "history", requestId, pos: this.pos });
    else if (frame.type === "unsubscribe") {
      connection.isSubscribed = false;
      ack();
    } else if (isAway)
      connection.toClient.push({ type: "error", requestId, code: "backend_error", message: "try again" });
    else if (frame.type === "publish") this.publish(connection, frame, ack);
    else if (frame.type === "subscribe") this.subscribe(connection, frame, ack);
  }

  private publish({ id: connection }: Connection, { id, data }: Frame, ack: (fields: object) => void): void {
    const first = this.stored.find((one) => id !== undefined && one.id === id);
    if (first) return ack({ pos: String(first.offset), duplicate: true });
    this.store({ connection, id, from: "me", data });
    ack({ pos: this.pos });
  }

  private subscribe(connection: Connection, frame: Frame, ack: (fields: object) => void): void {
    const { pos } = this;
    const isNew = !connection.isSubscribed;
    connection.isSubscribed = true;
    if (!isNew || frame.recover === undefined) return ack({ pos });
    if (Number(frame.recover) < this.trimmed) return ack({ pos, recovered: false, replay: 0 });
    const missed = this.stored.filter(
      (one) => one.offset > Number(frame.recover) && one.connection !== frame.connection,
    );
    ack({ pos, recovered: true, replay: missed.length });
    connection.toClient.push(...missed.map((one) => ({ ...this.messageOf(one), replay: true })));
  }
}
