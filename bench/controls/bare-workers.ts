/**
 * The floor of a hop: several bare processes on one port, each with native topics of its own, that pass each message to the others over a
 * Unix socket for each pair, all messages of a turn in one write. Frames are parsed, built and acked as in servers/bare-bun.ts; there are no
 * peers and no checks. `/s/CHANNEL` subscribes, `/p/CHANNEL` only publishes; `/j/CHANNEL?peer=ID` subscribes and joins: it gets the channel's roster, and
 * the subscribers of all processes learn that it has come, and has gone; `/p/direct?peer=ID` gets direct messages: every process knows which one has that peer, and
 * passes a message there only. Usage: bare-workers.ts COUNT
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerWebSocket, Socket } from "bun";

const CHUNK_BYTES = 256 * 1024;
const LENGTH_BYTES = 4;
const TOPIC_LENGTH_BYTES = 1;
/** A frame of the benchmark has at most this many bytes. */
const FRAME_MAX_BYTES = 32 * 1024;

interface Peer {
  readonly channel: string;
  /** Absent: it does not join. */
  readonly id: string | undefined;
  readonly isSubscriber: boolean;
  /** Direct messages to this name are for it. */
  readonly name: string | undefined;
}

interface Frame {
  readonly type: "publish" | "send";
  readonly channel: string;
  readonly to: string;
  readonly data: unknown;
  readonly requestId: string;
}

const [role = "", ...rest] = process.argv.slice(2);
if (role === "worker") await work(Number(rest[0]), Number(rest[1]), Number(rest[2]), rest[3] ?? "");
else await supervise(Number(role));

async function supervise(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bare-workers-"));
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  const { port } = probe;
  probe.stop(true);
  const workers: Bun.Subprocess[] = [];
  process.on("SIGTERM", () => {
    for (const worker of workers) worker.kill();
    rmSync(folder, { recursive: true, force: true });
    process.exit(0);
  });
  for (let index = 0; index < count; index++) {
    const args = ["worker", String(index), String(count), String(port), folder];
    const worker = Bun.spawn([process.execPath, "--no-env-file", import.meta.path, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    workers.push(worker);
    // Its line says that it is connected to those before it.
    await worker.stdout.getReader().read();
  }
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
}

/** What one worker writes to another: the messages of a turn, each with its length, its topic's length and its topic. */
class Hop {
  private readonly bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  private end = 0;

  constructor(private readonly socket: Pick<Socket, "write">) {}

  get isEmpty(): boolean {
    return this.end === 0;
  }

  add(topic: string, frame: string): void {
    if (this.end + FRAME_MAX_BYTES > CHUNK_BYTES) this.flush();
    const { bytes, end: start } = this;
    const topicAt = start + LENGTH_BYTES + TOPIC_LENGTH_BYTES;
    const topicBytes = bytes.write(topic, topicAt);
    bytes[topicAt - TOPIC_LENGTH_BYTES] = topicBytes;
    this.end = topicAt + topicBytes + bytes.write(frame, topicAt + topicBytes);
    bytes.writeUInt32LE(this.end - start - LENGTH_BYTES, start);
  }

  flush(): void {
    const written = this.socket.write(this.bytes, 0, this.end);
    if (written !== this.end) throw new Error("the benchmark has filled a socket");
    this.end = 0;
  }
}

/** Finds the messages in what a socket reads, which may end within one. */
class Arrivals {
  private rest: Buffer = Buffer.alloc(0);

  constructor(private readonly arrived: (topic: string, frame: string) => void) {}

  read(bytes: Buffer): void {
    const all = this.rest.length > 0 ? Buffer.concat([this.rest, bytes]) : bytes;
    let at = 0;
    while (all.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + all.readUInt32LE(at);
      if (end > all.length) break;
      const topicAt = at + LENGTH_BYTES + TOPIC_LENGTH_BYTES;
      const frameAt = topicAt + (all[topicAt - TOPIC_LENGTH_BYTES] ?? 0);
      this.arrived(all.toString("utf8", topicAt, frameAt), all.toString("utf8", frameAt, end));
      at = end;
    }
    this.rest = at < all.length ? Buffer.from(all.subarray(at)) : Buffer.alloc(0);
  }
}

/** Topics that are no channels: a direct message to the peer named behind it, and that the process which writes it has that peer. */
const TO_PEER = "\u0001";
const PEER_IS_HERE = "\u0002";

const JOINED = '{"type":"joined","peer":';
const LEFT = '{"type":"left","peer":';

/** Who is in each channel, over all processes. */
class Rosters {
  private readonly byChannel = new Map<string, Set<string>>();

  /** Other frames change nothing. */
  apply(channel: string, frame: string): void {
    if (frame.startsWith(JOINED)) {
      const roster = this.byChannel.get(channel) ?? new Set();
      this.byChannel.set(channel, roster.add(frame.slice(JOINED.length, -1)));
    } else if (frame.startsWith(LEFT)) {
      const roster = this.byChannel.get(channel);
      roster?.delete(frame.slice(LEFT.length, -1));
      if (roster?.size === 0) this.byChannel.delete(channel);
    }
  }

  snapshot(channel: string): string {
    const peers = [...(this.byChannel.get(channel) ?? [])].join(",");
    return `{"type":"presence","channel":${JSON.stringify(channel)},"snapshot":true,"peers":[${peers}]}`;
  }
}

async function work(index: number, count: number, port: number, folder: string): Promise<void> {
  const hops: Hop[] = [];
  let isTurnOpen = false;
  const endTurn = (): void => {
    isTurnOpen = false;
    for (const hop of hops) if (!hop.isEmpty) hop.flush();
  };
  const rosters = new Rosters();
  const peers = new Map<string, ServerWebSocket<Peer> | Hop>();
  const arrivals = (from: Hop): Arrivals =>
    new Arrivals((topic, frame) => {
      if (topic.startsWith(TO_PEER)) return toPeer(topic.slice(TO_PEER.length), frame);
      if (topic.startsWith(PEER_IS_HERE)) return void peers.set(topic.slice(PEER_IS_HERE.length), from);
      rosters.apply(topic, frame);
      server.publish(topic, frame);
    });
  const openTurn = (): void => {
    if (isTurnOpen) return;
    isTurnOpen = true;
    setImmediate(endTurn);
  };
  const pass = (channel: string, frame: string): void => {
    for (const hop of hops) hop.add(channel, frame);
    openTurn();
  };
  const toPeer = (name: string, frame: string): void => {
    const peer = peers.get(name);
    if (!(peer instanceof Hop)) return void peer?.send(frame);
    peer.add(TO_PEER + name, frame);
    openTurn();
  };
  const handler = {
    open: (socket: Socket<Arrivals>) => {
      const hop = new Hop(socket);
      socket.data = arrivals(hop);
      hops.push(hop);
    },
    data: (socket: Socket<Arrivals>, bytes: Buffer) => socket.data.read(bytes),
  };
  const path = (of: number): string => join(folder, `${of}.sock`);
  if (index < count - 1) Bun.listen<Arrivals>({ unix: path(index), socket: handler });
  for (let other = 0; other < index; other++) await Bun.connect<Arrivals>({ unix: path(other), socket: handler });

  const server = Bun.serve<Peer>({
    hostname: "127.0.0.1",
    port,
    reusePort: true,
    fetch: (request, self) => {
      const url = new URL(request.url);
      const [, kind, channel = ""] = url.pathname.split("/");
      const id = kind === "j" ? (url.searchParams.get("peer") ?? "") : undefined;
      const name = channel === "direct" ? (url.searchParams.get("peer") ?? "") : undefined;
      const isUpgraded = self.upgrade(request, { data: { channel, id, isSubscriber: kind !== "p", name } });
      return isUpgraded ? undefined : new Response("", { status: 400 });
    },
    websocket: {
      idleTimeout: 0,
      sendPings: false,
      perMessageDeflate: false,
      open: (socket) => {
        const { channel, id, isSubscriber, name } = socket.data;
        if (isSubscriber) socket.subscribe(channel);
        if (name !== undefined) {
          peers.set(name, socket);
          pass(PEER_IS_HERE + name, "");
        }
        if (id === undefined) return;
        const frame = `${JOINED}${JSON.stringify(id)}}`;
        rosters.apply(channel, frame);
        socket.send(rosters.snapshot(channel));
        socket.publish(channel, frame);
        pass(channel, frame);
      },
      close: (socket) => {
        const { channel, id } = socket.data;
        if (id === undefined) return;
        const frame = `${LEFT}${JSON.stringify(id)}}`;
        rosters.apply(channel, frame);
        server.publish(channel, frame);
        pass(channel, frame);
      },
      message: (socket, text) => {
        const { type, channel, to, data, requestId } = JSON.parse(text as string) as Frame;
        if (type === "send") {
          toPeer(to, JSON.stringify({ type: "direct", from: "peer-00000", data }));
          socket.send(JSON.stringify({ type: "ack", requestId }));
          return;
        }
        const frame = JSON.stringify({ type: "message", channel, from: "peer-00000", data });
        socket.publish(channel, frame);
        socket.send(JSON.stringify({ type: "ack", requestId }));
        pass(channel, frame);
      },
    },
  });
  console.log("ready");
}
