import { describe, expect, test } from "bun:test";
import type { Clock } from "../../base/clock.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { RealtimeMetrics } from "../counting/metrics.ts";
import type { DataSocket, SocketEvents } from "../frames/socket-handlers.ts";
import type { Broadcast } from "../state/socket.ts";
import { EventSocket } from "./event-socket.ts";
import { EventTopics } from "./event-topics.ts";
import { EventWriter } from "./event-writer.ts";

const MAX_PENDING_BYTES = 200_000;

/** A node's sockets over HTTP, without the rest of realtime. Time passes for timers only when the test says so. */
class Node {
  readonly called: string[] = [];
  /** What was published to WebSockets: topic, text, and whether the sender was one of them. */
  readonly published: string[] = [];
  readonly metrics = new RealtimeMetrics(new Metrics());
  private readonly timers: (() => void)[] = [];
  private nowMs = 0;
  readonly topics: EventTopics;
  readonly writer: EventWriter;
  private count = 0;

  constructor(private readonly msPerLook = 0) {
    const webSockets: Broadcast = (topic, text, except) =>
      this.published.push(`${topic} ${text} ${except ? "ws" : "-"}`);
    this.topics = new EventTopics(webSockets);
    this.writer = new EventWriter({ clock: this.clock, faults: this.faults });
  }

  private readonly faults = {
    caught: (_where: unknown, error: unknown) => {
      throw error;
    },
    guarded: (_where: unknown, callback: () => unknown) => () => void callback(),
  };

  private get clock(): Pick<Clock, "after" | "monotonicMs"> {
    return {
      after: (_ms, callback) => void this.timers.push(callback),
      monotonicMs: () => {
        this.nowMs += this.msPerLook;
        return this.nowMs;
      },
    };
  }

  private readonly handlers: SocketEvents = {
    open: () => void this.called.push("open"),
    message: (_ws, message) => void this.called.push(`message ${message}`),
    ping: () => void this.called.push("ping"),
    pong: (_ws, payload) => void this.called.push(`pong ${payload}`),
    drain: () => void this.called.push("drain"),
    close: (_ws: DataSocket, code, reason) => void this.called.push(`close ${code} ${reason}`.trim()),
  };

  socket(): EventSocket {
    const parts = {
      topics: this.topics,
      writer: this.writer,
      handlers: this.handlers,
      metrics: this.metrics,
      faults: this.faults,
      maxPendingBytes: MAX_PENDING_BYTES,
    };
    return new EventSocket(parts, `s${++this.count}`, this.count, null, undefined, { ended: () => undefined });
  }

  /** Runs the timers that are set now; returns how many. */
  tick(): number {
    const due = this.timers.splice(0);
    for (const callback of due) callback();
    return due.length;
  }
}

const turn = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** Reads as a client does, for as long as it is asked to. */
class Reader {
  text = "";
  isOver = false;
  isCut = false;
  private readonly reader;
  /** One that was asked for, and has not come. */
  private next: Promise<{ done: boolean; value?: Uint8Array | undefined } | "cut"> | undefined;

  constructor(socket: EventSocket) {
    this.reader = socket.body.getReader();
  }

  async read(times = 1000): Promise<this> {
    for (let at = 0; at < times; at++) {
      this.next ??= this.reader.read().catch(() => "cut" as const);
      const next = await Promise.race([this.next, turn().then(turn)]);
      if (next === undefined) return this;
      this.next = undefined;
      if (next === "cut") this.isCut = true;
      else if (next.done) this.isOver = true;
      else this.text += Buffer.from(next.value ?? []).toString();
      if (this.isCut || this.isOver) return this;
    }
    return this;
  }

  get data(): string[] {
    return [...this.text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data);
  }
}

describe("the socket of a connection over HTTP", () => {
  test("writes each frame as one data line, whatever white space it has", async () => {
    const socket = new Node().socket();
    socket.send('{"a":\r\n1}');
    socket.send('{"b":"\\n€"}');
    expect((await new Reader(socket).read()).text).toBe('data: {"a":  1}\n\ndata: {"b":"\\n€"}\n\n');
  });

  test("keeps the order of direct writes and of topics", async () => {
    const node = new Node();
    const socket = node.socket();
    socket.subscribe("t");
    socket.send("1");
    node.topics.broadcast("t", "2", undefined);
    socket.send("3");
    await turn();
    node.topics.broadcast("t", "4", undefined);
    socket.send("5");
    expect((await new Reader(socket).read()).data).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("answers the ping behind an ack itself, at the end of the turn, and no other", async () => {
    const node = new Node();
    const socket = node.socket();
    expect([socket.ping("1"), socket.ping("2"), socket.ping("")]).toEqual([1, 1, 1]);
    expect(node.called).toEqual([]);
    await turn();
    expect(node.called).toEqual(["pong 2"]);
  });

  test("says when all that waited was taken, to those who have asked", async () => {
    const node = new Node();
    const socket = node.socket();
    const reader = new Reader(socket);
    socket.send("x".repeat(100));
    await reader.read();
    expect(node.called).toEqual([]);
    socket.send("x".repeat(100_000));
    expect(socket.getBufferedAmount()).toBe(100_008);
    await reader.read();
    expect([socket.getBufferedAmount(), node.called]).toEqual([0, ["drain"]]);
  });

  test("counts truly what waits for a client that reads slowly", async () => {
    const socket = new Node().socket();
    const reader = new Reader(socket);
    for (let at = 0; at < 10; at++) socket.send("x".repeat(9992));
    await turn();
    expect(socket.getBufferedAmount()).toBe(100_000);
    await reader.read(1);
    expect(socket.getBufferedAmount()).toBe(40_000);
    expect(Buffer.byteLength(reader.text)).toBe(60_000);
    await reader.read();
    expect(socket.getBufferedAmount()).toBe(0);
  });

  test("is cut when too much waits for a client that does not read", async () => {
    const node = new Node();
    const socket = node.socket();
    const reader = new Reader(socket);
    for (let at = 0; at < 20; at++) {
      socket.send("x".repeat(9992));
      await turn();
      node.tick();
    }
    expect([socket.isOpen, node.called]).toEqual([true, []]);
    socket.send("one more");
    await turn();
    node.tick();
    expect([socket.isOpen, node.called]).toEqual([false, ["close 1006"]]);
    expect((await reader.read()).isCut).toBe(true);
  });

  test("is not cut for much that one turn writes, if the client reads", async () => {
    const node = new Node();
    const socket = node.socket();
    const reader = new Reader(socket);
    for (let at = 0; at < 30; at++) socket.send("x".repeat(9992));
    await reader.read();
    node.tick();
    expect(socket.isOpen).toBe(true);
    expect((await reader.read()).data).toHaveLength(30);
  });

  test("notes no more than twice the limit in one turn, and is cut for it", async () => {
    const node = new Node();
    const socket = node.socket();
    for (let at = 0; at < 1000; at++) socket.send("x".repeat(9992));
    expect(socket.getBufferedAmount()).toBeLessThanOrEqual(2 * MAX_PENDING_BYTES + 10_000);
    await turn();
    node.tick();
    expect(node.called).toEqual(["close 1006"]);
  });

  test("writes what waits, the close and the end when it is closed", async () => {
    const node = new Node();
    const socket = node.socket();
    socket.subscribe("t");
    for (let at = 0; at < 12; at++) socket.send(`${at}${"x".repeat(10_000)}`);
    socket.close(4002, 'a "reason"');
    expect([node.called, node.topics.size, socket.send("late")]).toEqual([['close 4002 a "reason"'], 0, 0]);
    const { text, data, isOver } = await new Reader(socket).read();
    expect([data.length, isOver]).toEqual([13, true]);
    expect(text.endsWith('event: close\ndata: {"code":4002,"reason":"a \\"reason\\""}\n\n')).toBe(true);
    socket.close(1000, "");
    socket.terminate();
    socket.gone();
    expect(node.called).toHaveLength(1);
  });

  test("ends as lost when its client is gone, once", async () => {
    const node = new Node();
    const socket = node.socket();
    socket.subscribe("t");
    await socket.body.cancel();
    socket.gone();
    expect([node.called, node.topics.size]).toEqual([["close 1006"], 0]);
    socket.subscribe("t");
    expect([node.topics.size, socket.ping("1")]).toEqual([0, 0]);
  });

  test("gets a comment line, unless something waits for it", async () => {
    const socket = new Node().socket();
    const reader = new Reader(socket);
    socket.beat();
    socket.beat();
    expect((await reader.read()).text).toBe(": heartbeat\n\n");
    socket.beat();
    expect((await reader.read()).text).toBe(": heartbeat\n\n: heartbeat\n\n");
  });
});

describe("topics", () => {
  test("reach sockets of both kinds, without the sender", async () => {
    const node = new Node();
    const [ann, ben] = [node.socket(), node.socket()];
    const readers = [new Reader(ann), new Reader(ben)] as const;
    for (const socket of [ann, ben]) socket.subscribe("t");
    const webSocket = node.socket();
    Object.assign(webSocket, { session: undefined });
    node.topics.broadcast("t", "all", undefined);
    node.topics.broadcast("t", "of ann", ann);
    ben.publish("t", "of ben");
    node.topics.broadcast("t", "of a WebSocket", webSocket);
    expect((await readers[0].read()).data).toEqual(["all", "of ben", "of a WebSocket"]);
    expect((await readers[1].read()).data).toEqual(["all", "of ann", "of a WebSocket"]);
    // One over HTTP is not on the runtime's topics: nothing is left out there.
    expect(node.published).toEqual(["t all -", "t of ann -", "t of ben -", "t of a WebSocket ws"]);
  });

  test("without a socket over HTTP are the runtime's alone, also for a sender over HTTP", () => {
    const node = new Node();
    const ann = node.socket();
    node.topics.broadcast("t", "a", undefined);
    ann.publish("t", "b");
    expect(node.published).toEqual(["t a -", "t b -"]);
  });

  test("are forgotten with their last reader", () => {
    const node = new Node();
    const sockets = [node.socket(), node.socket(), node.socket()];
    for (const socket of sockets) for (const topic of ["a", "b"]) socket.subscribe(topic);
    for (const socket of sockets) socket.unsubscribe("a");
    expect(node.topics.size).toBe(1);
    for (const socket of sockets) socket.terminate();
    expect(node.topics.size).toBe(0);
  });
});

describe("many sockets", () => {
  test("are written to in slices, each in order, with a text that is encoded once", async () => {
    // Each look at the clock takes 1 ms: a slice has two of them, so 32 sockets.
    const node = new Node(1);
    const sockets = Array.from({ length: 100 }, () => node.socket());
    const readers = sockets.map((socket) => new Reader(socket));
    for (const socket of sockets) socket.subscribe("t");
    node.topics.broadcast("t", "1", undefined);
    await turn();
    const waiting = (): number => sockets.filter((socket) => socket.getBufferedAmount() > 0).length;
    const written = async (): Promise<number> => {
      for (const reader of readers) await reader.read();
      return readers.filter(({ data }) => data.includes("1")).length;
    };
    expect([waiting(), await written()]).toEqual([100, 32]);
    // Those that are written to later get it behind what came before.
    for (const socket of sockets) socket.send("2");
    let slices = 1;
    while (node.tick() > 0) {
      slices++;
      await written();
    }
    expect(slices).toBeGreaterThanOrEqual(4);
    for (const { data } of readers) expect(data).toEqual(["1", "2"]);
  });
});
