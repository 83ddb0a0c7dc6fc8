/**
 * The floor of a hop: several bare processes on one port, each with native topics of its own, that pass each message to the others over a
 * Unix socket for each pair, all messages of a turn in one write. Frames are parsed, built and acked as in servers/bare-bun.ts; there are no
 * peers, no presence and no checks. `/s/CHANNEL` subscribes, `/p/CHANNEL` only publishes. Usage: bare-workers.ts COUNT
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Socket } from "bun";

const CHUNK_BYTES = 256 * 1024;
const LENGTH_BYTES = 4;
const TOPIC_LENGTH_BYTES = 1;
/** A frame of the benchmark has at most this many bytes. */
const FRAME_MAX_BYTES = 32 * 1024;

interface Peer {
  readonly channel: string;
  readonly isSubscriber: boolean;
}

interface Frame {
  readonly channel: string;
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

async function work(index: number, count: number, port: number, folder: string): Promise<void> {
  const hops: Hop[] = [];
  let isTurnOpen = false;
  const endTurn = (): void => {
    isTurnOpen = false;
    for (const hop of hops) if (!hop.isEmpty) hop.flush();
  };
  const arrivals = (): Arrivals => new Arrivals((topic, frame) => void server.publish(topic, frame));
  const handler = {
    open: (socket: Socket<Arrivals>) => {
      socket.data = arrivals();
      hops.push(new Hop(socket));
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
      const [, kind, channel = ""] = new URL(request.url).pathname.split("/");
      const isUpgraded = self.upgrade(request, { data: { channel, isSubscriber: kind === "s" } });
      return isUpgraded ? undefined : new Response("", { status: 400 });
    },
    websocket: {
      idleTimeout: 0,
      sendPings: false,
      perMessageDeflate: false,
      open: (socket) => {
        if (socket.data.isSubscriber) socket.subscribe(socket.data.channel);
      },
      message: (socket, text) => {
        const { channel, data, requestId } = JSON.parse(text as string) as Frame;
        const frame = JSON.stringify({ type: "message", channel, from: "peer-00000", data });
        socket.publish(channel, frame);
        for (const hop of hops) hop.add(channel, frame);
        socket.send(JSON.stringify({ type: "ack", requestId }));
        if (isTurnOpen) return;
        isTurnOpen = true;
        setImmediate(endTurn);
      },
    },
  });
  console.log("ready");
}
